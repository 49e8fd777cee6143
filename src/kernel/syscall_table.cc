#include "kernel/syscall_table.h"

#include <bpf/bpf.h>

#include <array>
#include <cstring>
#include <functional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/text.h"
#include "kernel/skeleton.h"
#include "kernel/syscall_table_wire.h"

#include "syscall_table.skel.h"

namespace overdue {
namespace {

/// How the architecture spells the functions in its table, and the first four of them.
struct Spelling {
  std::string_view prefix;
  std::array<std::string_view, 4> leading;
};

#if defined(__x86_64__)
constexpr Spelling native = {"__x64_sys_", {"read", "write", "open", "close"}};
#elif defined(__aarch64__)
constexpr Spelling native = {"__arm64_sys_", {"io_setup", "io_destroy", "io_submit", "io_cancel"}};
#else
constexpr Spelling native = {"sys_", {"read", "write", "open", "close"}};
#endif

// Read-only data of a distribution kernel is 5 to 15 MB, and the table is near its start.
constexpr std::uint32_t scan_pages = 4096;

// Functions whose name is not that of the call: newer versions, and types spelled out.
constexpr std::pair<std::string_view, std::string_view> renamed[] = {
    {"newstat", "stat"},           {"newfstat", "fstat"}, {"newlstat", "lstat"},
    {"newuname", "uname"},         {"umount", "umount2"}, {"sendfile64", "sendfile"},
    {"fadvise64_64", "fadvise64"},
};

using TableSkeleton = Skeleton<syscall_table_bpf>;

void configure(TableSkeleton& skeleton) {
  auto& configuration = *skeleton->rodata;
  configuration.scan_pages = scan_pages;
  for (std::size_t i = 0; i < native.leading.size(); ++i) {
    const std::string symbol = std::string(native.prefix) + std::string(native.leading[i]);
    std::memcpy(configuration.leading_names[i], symbol.c_str(), symbol.size() + 1);
    configuration.leading_sizes[i] = static_cast<u32>(symbol.size() + 1);
  }
}

/// The symbols up to the end of the table: the first entry that is no system call, or one seen
/// before, which belongs to another table behind this one. Only "not implemented" may repeat.
std::map<std::uint32_t, std::string> take(const syscall_symbol* symbols, std::uint32_t first) {
  std::map<std::uint32_t, std::string> result;
  std::set<std::string, std::less<>> seen;
  for (std::uint32_t number = 0; number < SYSCALLS_MAX; ++number) {
    const std::string_view symbol = fixed_text(symbols[number].name);
    if (symbol.ends_with("sys_ni_syscall")) continue;
    const std::string name = syscall_name_of_symbol(symbol);
    if (name.empty() || !seen.insert(name).second) break;
    if (number >= first) result.emplace(number, symbol);
  }
  return result;
}

Support no_table(bool searched, std::int64_t error) {
  if (error == -EPERM)
    return Support::no(
        "the kernel hides its addresses (kernel.kptr_restrict or perf_event_paranoid)",
        "give CAP_SYSLOG, or `sysctl kernel.kptr_restrict=0 kernel.perf_event_paranoid=1`");
  if (searched)
    return Support::no("no sys_call_table among the kernel's symbols or in its read-only data",
                       "none needed: calls newer than this build are shown by number");
  return Support::no("the kernel's sys_call_table cannot be read",
                     "none needed: calls newer than this build are shown by number");
}

KernelSyscalls ask(std::uint32_t first_number) {
  TableSkeleton skeleton("syscall_table");
  configure(skeleton);
  skeleton.load();
  bpf_test_run_opts options = {};
  options.sz = sizeof options;
  check(bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_syscalls), &options),
        "cannot run a BPF program once");
  const auto& answer = *skeleton->bss;
  KernelSyscalls result;
  result.searched = answer.table_was_searched != 0;
  if (answer.table == 0) {
    result.support = no_table(result.searched, answer.lookup_error);
    return result;
  }
  result.symbols = take(answer.symbols, first_number);
  return result;
}

}  // namespace

KernelSyscalls kernel_syscall_symbols(std::uint32_t first_number) {
  try {
    return ask(first_number);
  } catch (const Error& error) {
    // A kernel that refuses is an answer here: names of very new calls are a convenience.
    KernelSyscalls result;
    result.support = Support::no(error.what(), error.hint().empty() ? "run as root" : error.hint());
    return result;
  }
}

std::string syscall_name_of_symbol(std::string_view symbol) {
  constexpr std::string_view prefixes[] = {
      native.prefix, "__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__do_sys_", "sys_"};
  for (const std::string_view prefix : prefixes) {
    if (!symbol.starts_with(prefix) || symbol.size() == prefix.size()) continue;
    const std::string_view name = symbol.substr(prefix.size());
    for (const auto& [function, call] : renamed)
      if (name == function) return std::string(call);
    return std::string(name);
  }
  return {};
}

}  // namespace overdue

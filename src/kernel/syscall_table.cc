#include "kernel/syscall_table.h"

#include <bpf/bpf.h>

#include <array>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/text.h"
#include "kernel/skeleton.h"
#include "kernel/syscall_table_wire.h"

#include "syscall_table.skel.h"

namespace overdue {
namespace {

/// The prefix of the functions in the architecture's table, and the first four functions.
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

/// The symbol of a system call without its prefix; empty if `symbol` is not one. Functions without
/// arguments have several symbols at one address; `symbol` may be any of them.
std::string_view function_of(std::string_view symbol) {
  constexpr std::string_view prefixes[] = {
      native.prefix, "__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__se_sys_", "__do_sys_", "sys_"};
  for (const std::string_view prefix : prefixes)
    if (symbol.starts_with(prefix)) return symbol.substr(prefix.size());
  return {};
}

/// The symbols up to the end of the table: the first entry that is no system call, or that repeats
/// an earlier one, as in another table after this one. Only "not implemented" may repeat.
SyscallSymbols take(const syscall_symbol* symbols, std::uint32_t first) {
  SyscallSymbols result;
  std::set<std::string_view> seen;
  for (std::uint32_t number = 0; number < SYSCALLS_MAX; ++number) {
    const std::string_view symbol = fixed_text(symbols[number].name);
    if (symbol.ends_with("sys_ni_syscall")) continue;
    const std::string_view function = function_of(symbol);
    if (function.empty() || !seen.insert(function).second) break;
    if (number >= first) result.emplace(number, symbol);
  }
  return result;
}

SyscallSymbols ask(std::uint32_t first_number) {
  TableSkeleton skeleton("syscall_table");
  configure(skeleton);
  skeleton.load();
  bpf_test_run_opts options = {};
  options.sz = sizeof options;
  check(bpf_prog_test_run_opts(bpf_program__fd(skeleton->progs.find_syscalls), &options),
        "cannot run a BPF program once");
  const auto& answer = *skeleton->bss;
  if (answer.table == 0) return {};
  return take(answer.symbols, first_number);
}

}  // namespace

SyscallSymbols kernel_syscall_symbols(std::uint32_t first_number) {
  try {
    return ask(first_number);
  } catch (const Error&) {
    // Not an error: names of very new calls are a convenience.
    return {};
  }
}

}  // namespace overdue

#include "syscalls/names.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "syscalls/names_aliases.h"
#include "syscalls/names_table.h"

namespace overdue {
namespace {

std::optional<std::uint32_t> exact_number(std::uint16_t abi, std::string_view name) {
  const auto names = builtin_names(abi);
  const auto found = std::find(names.begin(), names.end(), name);
  if (name.empty() || found == names.end()) return std::nullopt;
  return static_cast<std::uint32_t>(found - names.begin());
}

}  // namespace

std::string syscall_label(std::uint16_t abi) {
  switch (abi) {
    case ABI_NATIVE:
      return "";
    case ABI_COMPAT:
      return "i386:";
    case ABI_X32:
      return "x32:";
    default:
      return fmt::format("abi{}:", abi);
  }
}

std::string_view builtin_syscall_name(std::uint16_t abi, std::uint32_t nr) {
  const auto names = builtin_names(abi);
  return nr < names.size() ? names[nr] : std::string_view();
}

std::uint32_t first_unnamed_syscall() {
  std::uint32_t nr = SYSCALL_TABLE_SIZE;
  while (nr > 0 && builtin_syscall_name(ABI_NATIVE, nr - 1).empty()) --nr;
  return nr;
}

std::string syscall_name(std::uint16_t abi, std::uint32_t nr, const Names& names) {
  std::string name = syscall_label(abi);
  if (const std::string_view builtin = builtin_syscall_name(abi, nr); !builtin.empty())
    return name += builtin;
  if (const auto found = names.syscalls.find({abi, nr});
      found != names.syscalls.end() && !found->second.empty())
    return name += found->second;
  return name += fmt::format("syscall_{}", nr);
}

std::optional<std::uint32_t> syscall_number(std::uint16_t abi, std::string_view name) {
  const std::string_view stem = without_kernel_prefix(name);
  if (stem.size() != name.size()) {
    // A kernel's name: its umount is umount2, whatever the plain name means on this ABI.
    if (const auto number = exact_number(abi, name_of_kernel_function(abi, stem))) return number;
  }
  if (const auto number = exact_number(abi, stem)) return number;
  for (const std::string_view other : other_names(stem))
    if (const auto number = exact_number(abi, other)) return number;
  return std::nullopt;
}

std::vector<std::string_view> all_syscall_names() {
  std::vector<std::string_view> all;
  for (std::uint16_t abi = 0; abi < ABI_COUNT; ++abi)
    for (const std::string_view name : builtin_names(abi))
      if (!name.empty()) all.push_back(name);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::string name_from_kernel_symbol(std::string_view symbol) {
  const std::string_view stem = without_kernel_prefix(symbol);
  if (stem.size() == symbol.size() || stem == "ni_syscall") return "";
  // "__ia32_sys_…" and "__ia32_compat_sys_…" are the entries of the i386 table.
  const bool compat = symbol.find("ia32_") != std::string_view::npos;
  return std::string(name_of_kernel_function(compat ? ABI_COMPAT : ABI_NATIVE, stem));
}

std::vector<std::string> tracepoint_candidates(std::string_view name) {
  std::vector<std::string> candidates;
  const auto add = [&](std::string_view function) {
    std::string candidate = fmt::format("sys_enter_{}", function);
    if (std::find(candidates.begin(), candidates.end(), candidate) == candidates.end())
      candidates.push_back(std::move(candidate));
  };
  for (const std::string_view function : kernel_functions(name)) add(function);
  add(name);
  add(fmt::format("new{}", name));
  add(fmt::format("{}64", name));
  if (name.ends_with("64")) add(name.substr(0, name.size() - 2));
  return candidates;
}

std::optional<std::string> find_tracepoint(const std::filesystem::path& events,
                                           std::string_view name) {
  for (std::string& candidate : tracepoint_candidates(name)) {
    std::error_code unreadable;  // counts as not there
    if (std::filesystem::is_directory(events / candidate, unreadable)) return std::move(candidate);
  }
  return std::nullopt;
}

}  // namespace overdue

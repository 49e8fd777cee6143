#pragma once

#include <span>
#include <string_view>

namespace overdue {

/// A `%name` of `-e`: the calls strace counts in it, by name, on every ABI.
struct SyscallClass {
  std::string_view name;
  std::span<const std::string_view> calls;
};

/// All classes but %%stat, which classes.cc makes of three.
std::span<const SyscallClass> syscall_classes();

}  // namespace overdue

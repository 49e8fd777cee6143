#pragma once

#include <span>
#include <string_view>

namespace overdue {

/// A `%name` of `-e`: the calls that strace counts in the class, by name, on every ABI.
struct SyscallClass {
  std::string_view name;
  std::span<const std::string_view> calls;
};

/// All classes but %%stat, which classes.cc makes from three.
std::span<const SyscallClass> syscall_classes();

}  // namespace overdue

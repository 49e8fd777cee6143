#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bpf/syscalls.h"

namespace overdue {

/// `name` without the prefix that kernels put in front of the names of system calls ("sys_",
/// "__x64_sys_", "sys_enter_", …); unchanged if it has no such prefix.
std::string_view without_kernel_prefix(std::string_view name);

/// The system call behind the kernel function `sys_<function>` on one ABI: ("newfstat", native) →
/// "fstat". `function` itself if the two are equal. Borrows from `function`.
std::string_view name_of_kernel_function(std::uint16_t abi, std::string_view function);

/// The kernel functions that have implemented a native call under a name other than its own, newest
/// first.
std::vector<std::string_view> kernel_functions(std::string_view name);

/// Other names of the call `name`, best first: of other ABIs, of the C library, of kernel
/// functions. Static storage, or borrowed from `name`.
std::vector<std::string_view> other_names(std::string_view name);

}  // namespace overdue

#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace overdue {

/// System calls by number, as the kernel symbols that implement them (`__x64_sys_openat`). Numbers
/// without an implementation are left out.
using SyscallSymbols = std::map<std::uint32_t, std::string>;

/// Reads the calls numbered `first_number` and up from the kernel, with one run of a BPF program
/// (about 1 ms with its load). Needs CAP_BPF and CAP_PERFMON. Empty if the kernel refuses or hides
/// its addresses, or if its table is not found.
SyscallSymbols kernel_syscall_symbols(std::uint32_t first_number = 0);

}  // namespace overdue

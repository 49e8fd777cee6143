#pragma once

#include <cstdint>
#include <map>
#include <string>

namespace overdue {

/// System calls by number, as the kernel symbols behind them (`__x64_sys_openat`). Numbers without
/// an implementation are left out.
using SyscallSymbols = std::map<std::uint32_t, std::string>;

/// Asks the kernel for the calls numbered `first_number` and up, by one run of a BPF program (about
/// 1 ms with its loading). Needs CAP_BPF and CAP_PERFMON. Empty where the kernel refuses,
/// hides its addresses, or has no table that we find.
SyscallSymbols kernel_syscall_symbols(std::uint32_t first_number = 0);

}  // namespace overdue

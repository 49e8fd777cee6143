#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "core/probe.h"

namespace overdue {

/// The running kernel's system calls by number, as the kernel symbols behind them
/// (`__x64_sys_openat`). Numbers without an implementation are left out.
struct KernelSyscalls {
  std::map<std::uint32_t, std::string> symbols;
  Support support;        ///< no: `symbols` is empty, and why
  bool searched = false;  ///< the table has no symbol here and was found by its content
};

/// Asks the kernel for the calls numbered `first_number` and up, by one run of a BPF program (about
/// 5 ms, nearly all of it loading). Needs CAP_BPF and CAP_PERFMON. Never throws for what the kernel
/// refuses.
KernelSyscalls kernel_syscall_symbols(std::uint32_t first_number = 0);

/// The name of the call behind a kernel symbol, as strace prints it: `__x64_sys_newuname` is
/// `uname`. Empty where it is not the symbol of a system call.
std::string syscall_name_of_symbol(std::string_view symbol);

}  // namespace overdue

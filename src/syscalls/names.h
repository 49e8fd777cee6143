#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/syscalls.h"
#include "core/record.h"

namespace overdue {

/// The name of a system call as strace prints it, with its ABI in front unless that is the native
/// one: "newfstatat", "i386:open", "x32:read". A number that is not in the built-in tables is
/// looked up in `names.syscalls` (unlabelled names from the measured kernel); an unknown number is
/// "syscall_999". Thread-safe.
std::string syscall_name(std::uint16_t abi, std::uint32_t nr, const Names& names);

/// The built-in name without a label; empty if there is none. Static storage.
std::string_view builtin_syscall_name(std::uint16_t abi, std::uint32_t nr);
/// The least native number above which there are no built-in names; the running kernel may have
/// some.
std::uint32_t first_unnamed_syscall();

/// The label in front of the names of an ABI: "", "i386:", "x32:". Others ("abi3:") never come from
/// a kernel, but may be in a damaged file.
std::string syscall_label(std::uint16_t abi);

/// The number that a user means by `name` on one ABI: the name itself, or any name that the kernel,
/// its tracepoints or the C library give the call ("umount", "stat64", "_newselect",
/// "sys_enter_openat", "__x64_sys_openat"). The caller handles labels ("i386:open"). Only built-in
/// calls.
std::optional<std::uint32_t> syscall_number(std::uint16_t abi, std::string_view name);

/// Every built-in name of any ABI, unlabelled, sorted, each once. Static storage.
std::vector<std::string_view> all_syscall_names();

/// The name, as strace prints it, of the call that a kernel function implements:
/// "__x64_sys_newfstat" → "fstat", "__ia32_compat_sys_newstat" → "stat", "sys_openat2" → "openat2".
/// Empty for sys_ni_syscall ("not implemented") and for a symbol of no system call.
std::string name_from_kernel_symbol(std::string_view symbol);

/// Possible names of a native call's entry tracepoint, below tracefs' events/syscalls, most likely
/// first: "fstat" → "sys_enter_newfstat", "sys_enter_fstat", … Kernels name their tracepoints after
/// functions, and functions were renamed more than once. The exit tracepoint begins with
/// "sys_exit_" instead.
std::vector<std::string> tracepoint_candidates(std::string_view name);

/// The folder of a native call's entry tracepoint in `events` (tracefs' events/syscalls, or a
/// test's copy): the first of tracepoint_candidates() that exists, or nothing.
std::optional<std::string> find_tracepoint(const std::filesystem::path& events,
                                           std::string_view name);

}  // namespace overdue

#pragma once

#include <array>
#include <bitset>
#include <span>
#include <string>

#include "bpf/syscalls.h"
#include "core/record.h"

namespace overdue {

/// System calls chosen by number, per ABI. Numbers from SYSCALL_TABLE_SIZE on (x32's own 512 … 547)
/// have no bit.
using SyscallSet = std::array<std::bitset<SYSCALL_TABLE_SIZE>, ABI_COUNT>;

/// The calls that the arguments of `-e` choose together. Each argument is a comma-separated list,
/// with or without strace's `trace=`:
///
///   openat             the call, on every ABI that has it, by any name syscall_number() knows
///   i386:open x32:read that ABI only
///   syscall_470, 470   a native number (i386:470: of that ABI)
///   %file              a class of strace's, also %%stat and the like; `file` alone is not a class
///   *at, epoll_[cw]*   a glob over names, `i386:*` over labelled ones
///   all                every call
///   ?name              the same as `name`, but no error if no ABI has that call
///   !openat, !%memory  removes these
///
/// A list that *begins* with `!` removes all calls in it, as in strace: `!futex,poll` is every call
/// but those two. The result is what the lists name (every call, if they only remove some) less
/// what they remove, in whatever order they were given. Calls that only the measured kernel has are
/// found in `names`.
///
/// Throws Error (exit status 2) for an unknown name or class, with a suggestion; for a glob that
/// matches nothing; and if nothing is left.
SyscallSet parse_syscall_set(std::span<const std::string> lists, const Names& names);

/// Whether the lists name calls, and do not only remove some.
bool names_calls(std::span<const std::string> lists);

}  // namespace overdue

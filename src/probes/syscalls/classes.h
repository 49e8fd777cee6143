#pragma once

#include <array>
#include <bitset>
#include <span>
#include <string>

#include "core/record.h"
#include "probes/syscalls/syscalls.h"

namespace overdue {

/// System calls chosen by number, per ABI. Numbers from SYSCALL_TABLE_SIZE on (x32's own 512 … 547)
/// have no bit.
using SyscallSet = std::array<std::bitset<SYSCALL_TABLE_SIZE>, ABI_COUNT>;

/// What the arguments of `-e` mean together. Each is a comma-separated list, with or without
/// strace's `trace=`:
///
///   openat             the call, on every ABI that has it, by any name syscall_number() knows
///   i386:open x32:read that ABI only
///   syscall_470, 470   a native number (i386:470: of that ABI)
///   %file              a class of strace's, also %%stat and the like; `file` alone is not a class
///   *at, epoll_[cw]*   a glob over names, `i386:*` over labelled ones
///   all                every call
///   ?name              the same, but no error where nobody has that call
///   !openat, !%memory  takes these away
///
/// A list that *begins* with `!` takes away all it lists, as in strace: `!futex,poll` is everything
/// but those two. The result is what the lists name (everything, where they only take away) less
/// what they take away, in whatever order they were given. Calls only the measured kernel has are
/// found in `names`.
///
/// Throws Error (exit status 2) for an unknown name or class, with a suggestion; for a glob that
/// matches nothing; and where nothing is left.
SyscallSet parse_syscall_set(std::span<const std::string> lists, const Names& names);

/// Whether the lists name calls, not only take some away.
bool names_calls(std::span<const std::string> lists);

}  // namespace overdue

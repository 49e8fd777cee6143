#pragma once

#include <sys/types.h>

#include <cstddef>

#include "base/fd.h"

#if defined(__SANITIZE_ADDRESS__)
#define OVERDUE_HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OVERDUE_HAS_SANITIZER 1
#endif
#endif
#ifndef OVERDUE_HAS_SANITIZER
#define OVERDUE_HAS_SANITIZER 0
#endif

namespace overdue::sandbox {

/// A sanitizer writes to standard error, reserves more addresses than any limit, and makes system
/// calls of its own. In such builds, which are only for tests, the sandbox permits that.
inline constexpr bool has_sanitizer = OVERDUE_HAS_SANITIZER != 0;

/// A user id for a process in the sandbox, another one on each call, that no other process has: a
/// process with the same id could kill or stop it and use up its limits. The id is in the upper
/// half of all ids, which no user database gives to people (systemd's UIDS-GIDS.md).
uid_t unused_user();

/// The functions below are for a process that has just been forked. Each throws Error on failure.

/// Closes all descriptors but `kept`, whose number may change; 0, 1 and 2 become /dev/null. Ignores
/// the signals that a terminal sends.
void leave_surroundings(Fd& kept);
/// Gives the process an empty, deleted directory as its root, a user of its own (unused_user()), no
/// groups and no capabilities, and no way to get any; no core files, and no writing to files.
/// Without root, or without root's capabilities, the root directory and the ids stay as they are.
void drop_privileges();
/// Ends the process when its parent, `parent`, ends; at once if the parent is already gone.
void end_with(pid_t parent);
/// Limits the address space and the number of descriptors.
void set_limits(std::size_t memory_bytes, std::size_t files);
/// From now on, the process may read and write open files and allocate memory without code. Other
/// system calls kill it.
void forbid_system_calls();

}  // namespace overdue::sandbox

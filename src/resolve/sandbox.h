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

/// A sanitizer's checks speak on standard error, reserve more addresses than any limit, and make
/// system calls of their own: in such builds, which are for tests alone, the walls have these gaps.
inline constexpr bool has_sanitizer = OVERDUE_HAS_SANITIZER != 0;

/// Whom a process in the sandbox runs as: a user that no other process is, another one each time.
/// Who has the same ids may kill a process, stop it and use up what it may have. Of the upper half
/// of all ids, which no user database gives to people (systemd's UIDS-GIDS.md).
uid_t unused_user();

/// For a process that has just been forked. All throw Error where it cannot be had.

/// Nothing stays open but `kept`, whose number may change, and /dev/null as 0, 1 and 2. What a
/// terminal sends is not heard any more.
void leave_surroundings(Fd& kept);
/// An empty directory that has no name any more is the root; ids of nobody's, no groups, no
/// capabilities, and no way to get any; no core files, and no writing to files. Where we are not
/// root, or have no capabilities left, there is nothing to give up but the last two, and the way to
/// get more.
void drop_privileges();
/// Ends with its parent, which is `parent`: at once if that is gone already.
void end_with(pid_t parent);
/// At most so much memory and so many descriptors.
void set_limits(std::size_t memory_bytes, std::size_t files);
/// From now on it may read and write what is open, and get memory without code in it; whatever else
/// it asks the kernel for kills it.
void forbid_system_calls();

}  // namespace overdue::sandbox

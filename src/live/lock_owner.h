#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "report/why/open_waits.h"
#include "target/proc.h"

namespace overdue {

/// The system call in which a thread sleeps.
struct PresentCall {
  std::uint32_t number = 0;
  std::array<std::uint64_t, 6> arguments{};
};

/// The present call of a thread; nothing if the thread runs, or cannot be read.
std::optional<PresentCall> present_call(std::uint32_t pid, std::uint32_t tid);

/// What glibc notes in a lock about those that have it.
struct LockOwner {
  std::optional<ThreadStatus> thread;  ///< the owner; none: it is a lock that is held for reading
  std::uint32_t readers = 0;           ///< threads that hold the lock for reading
};

/// The owner of the lock for which a thread waits in the call futex. Nothing if the thread does not
/// wait, or if no living thread that can have the lock is noted. The memory is the program's: it
/// may say anything, and names at most an innocent thread that shares the lock's memory.
std::optional<LockOwner> lock_owner(const OpenWait& wait);

}  // namespace overdue

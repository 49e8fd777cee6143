#pragma once

#include <cstdint>
#include <string>

#include "core/finding.h"

namespace overdue {

/// The root of a blocked time: the end of the chain of wakers, or the wait itself if no thread
/// ended it.
struct Root {
  std::string key;             ///< equal for equal roots of one session
  std::string text;            ///< "futex behind holder[12], which slept in hold_the_lock"
  std::uint64_t explained_ns;  ///< part of the blocked time in which the root did that
};

/// The root of a finding whose thread was blocked.
Root root_of(const Finding& finding);

/// The program's own innermost function and its caller: "hold_the_lock ← run_worker"; empty:
/// unknown. Functions of the C library and functions that only wait are no program's own.
std::string own_place(const Stack& stack);

/// Whether a wait with this stack is within a system call.
bool is_in_call(const Stack& kernel_stack);

}  // namespace overdue

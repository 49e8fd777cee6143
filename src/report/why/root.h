#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/finding.h"

namespace overdue {

/// The root of a blocked time: the end of the chain of wakers, or the wait itself if no thread
/// ended it.
struct Root {
  std::string key = {};        ///< equal for equal roots of one session
  std::string operation = {};  ///< what waited: "futex in work ← main"; or the whole cause
  std::optional<ThreadName> thread = {};  ///< the root; none: no thread
  std::string activity = {};              ///< of the thread: "slept in hold_the_lock"
  std::string by = {};                    ///< the root if it is no thread: "disk vda"
  std::uint64_t explained_ns = 0;         ///< part of the blocked time in which the root did that
  std::uint64_t ran_ns = 0;               ///< part of explained_ns: the root was on the CPU
  bool is_one_lock = false;               ///< all waits of the process for this lock have one key
  bool may_be_idle = false;  ///< the wait may be one for work, which the root had not yet
};

/// Root::activity of a JVM's thread that stops all others.
inline constexpr std::string_view to_safepoint = "waited for a thread to reach the safepoint";

/// Root::activity of a thread that a JVM stopped meanwhile.
inline constexpr std::string_view kept_at_safepoint =
    "stood at a safepoint of the JVM that another thread had not reached";

/// The cause in words: "futex behind holder[12], which slept in hold_the_lock". `name`: of the
/// root's thread, or of several threads.
std::string cause_text(const Root& root, const std::string& name);

/// The root of a finding whose thread was blocked.
Root root_of(const Finding& finding);

/// Whether the span of that name is an answer over a connection. No call of the thread waited for
/// an answer alone.
bool is_answer_span(std::string_view span);
bool is_answer(const Finding& finding);
/// Whether the thread waited because TCP sent its data again and again.
bool was_resent(const Finding& finding);

/// Whether the thread of an open call is stopped, traced or frozen.
bool is_stopped_at_present(const Finding& finding);

/// Whether the thread waits in a function that waits for locks, and for nothing else.
bool waits_for_lock(const Finding& finding);

/// The same, or the thread waits for a lock of the kernel's: of a file, of an inode, mmap_lock.
bool waits_for_any_lock(const Finding& finding);

/// The program's own functions, innermost first, at most so many; a recursion once. Functions of
/// the C library and functions that only wait are no program's own. Valid as long as the stack.
std::vector<const StackFrame*> own_frames(const Stack& stack, std::size_t at_most);
/// The innermost of these and its caller: "hold_the_lock ← run_worker"; empty: unknown.
std::string place_text(const std::vector<const StackFrame*>& own);
std::string own_place(const Stack& stack);

}  // namespace overdue

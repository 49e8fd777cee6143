#pragma once

#include <span>
#include <string_view>

namespace overdue {

/// How a thread may wait without being late.
enum class WaitKind {
  none,       ///< a delay, always
  sleep,      ///< for a time that it asked for
  condition,  ///< for another thread, on a futex: for a lock, an answer, or work
  events,     ///< for any of several descriptors, or for one: for an answer, or work
  input,      ///< for input, a client, a child, a signal: likewise
};

/// By the name of the system call.
WaitKind wait_kind_of_call(std::string_view call);
/// By a function of the kernel that the wait is in.
WaitKind wait_kind_of_kernel(std::string_view function);

/// Where in the user stack a function has to be, for its row to decide.
enum class RowReach {
  caller,    ///< it waits itself, but for functions that do nothing else
  anywhere,  ///< the innermost such row decides
  fallback,  ///< of waits for events, if no other row does
};

/// What a wait below a function of a program, or of a library, is for.
struct WaitFunction {
  std::string_view function;  ///< a glob; parameters and templates are no part of the name
  std::string_view purpose;   ///< as WaitPurpose::of
  RowReach reach = RowReach::anywhere;
  std::string_view thread = "";  ///< only in threads of this name; empty: in all
};

std::span<const WaitFunction> wait_functions();

/// Functions that only wait for their callers: pthread_cond_wait() and what wraps it.
bool is_wait_wrapper(std::string_view function);
/// Functions that a thread begins in, whatever it is for.
bool is_thread_start(std::string_view function);

/// Whether a function matches the glob of a row.
bool is_named(std::string_view glob, std::string_view function);

}  // namespace overdue

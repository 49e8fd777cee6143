#pragma once

#include <span>
#include <string_view>

namespace overdue {

/// Kinds of waits that may be no delay.
enum class WaitKind {
  none,       ///< always a delay
  sleep,      ///< for a time that the thread asked for
  condition,  ///< for another thread, on a futex: for a lock, an answer, or work
  events,     ///< for one or several descriptors: for an answer, or work
  input,      ///< for input, a client, a child, a signal: for an answer, or work
};

/// Kind of wait of a system call, by its name.
WaitKind wait_kind_of_call(std::string_view call);
/// Kind of wait in a function of the kernel.
WaitKind wait_kind_of_kernel(std::string_view function);

/// Place of a function in the user stack that lets its row decide.
enum class RowReach {
  caller,    ///< innermost, apart from the C library and wait wrappers
  anywhere,  ///< anywhere; the innermost function with such a row decides
  fallback,  ///< anywhere, for waits for events that no other row decides
};

/// Purpose of the waits below a function of a program or a library.
struct WaitFunction {
  std::string_view function;  ///< a glob; parameters and templates are no part of the name
  std::string_view purpose;   ///< as WaitPurpose::of
  RowReach reach = RowReach::anywhere;
  std::string_view thread = "";  ///< only in threads with this name; empty: in all threads
};

std::span<const WaitFunction> wait_functions();

/// Whether a function only waits on behalf of its callers: pthread_cond_wait() and its wrappers.
bool is_wait_wrapper(std::string_view function);
/// Whether a function of a language's library only calls the program's own functions.
bool is_glue(std::string_view function);
/// Whether threads begin in this function, whatever their purpose.
bool is_thread_start(std::string_view function);

/// Whether a function matches the glob of a row.
bool is_named(std::string_view glob, std::string_view function);

}  // namespace overdue

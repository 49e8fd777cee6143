#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/callers.h"

namespace overdue {

/// One frame of a stack with all that is known of it. All text is fit to be printed.
struct StackFrame {
  std::uint64_t address = 0;
  std::string name{};    ///< demangled; empty where nobody knows, or nobody asked
  std::string module{};  ///< the file's path; "[vdso]", "[jit]", "[anon]", "[kernel]", "[ext4]";
                         ///< empty where no code is mapped
  std::uint64_t offset = 0;  ///< into the function; without a name into the module's file or the
                             ///< mapping; without a module it is the address
  std::string build_id{};    ///< of the file, if it has one
  std::string file{};        ///< source file and line, where those were asked for and are known
  std::uint32_t line = 0;
  bool is_inlined = false;  ///< into the next frame, whose address it has
  bool is_kernel = false;
  bool is_jit = false;            ///< named by the perf map of its process
  bool is_named_by_call = false;  ///< by that before the next frame's address, not by a symbol
  bool is_guessed = false;        ///< found without unwind information
  bool follows_gap = false;       ///< frames may be missing between the one before and it
  bool is_signal = false;         ///< the trampoline of a signal handler
  frame_rule rule{};              ///< how the next frame was found, if that is the same each time

  bool operator==(const StackFrame&) const = default;
};
/// The name, or `[module+0x1234]`, or `[0x1234]`; never empty.
std::string to_text(const StackFrame& frame);

/// Innermost frame first.
using Stack = std::vector<StackFrame>;

/// What the frame is called where a thread begins in a C library whose own function for it has no
/// name; not a function's name, hence the brackets.
inline constexpr std::string_view thread_start = "[thread start]";

/// Whether the frame's file is a C library, by its name.
bool is_of_c_library(const StackFrame& frame);

/// Drops frames without a name where the next one, their caller, has one and is of the same shared
/// library: functions that the library does not export (of the C library: how it makes a call), as
/// parts of the exported function. Programs keep theirs: what calls there is not exported either.
void fold_unnamed(Stack& stack);

/// Drops the innermost frames that are how the kernel called a program of ours: nothing of what the
/// stack was taken for.
void drop_tracing(Stack& stack);

}  // namespace overdue

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bpf/callers.h"

namespace overdue {

/// One frame of a stack, with everything known about it. All text is printable.
struct StackFrame {
  std::uint64_t address = 0;
  std::string name{};    ///< demangled; empty if not known or not asked for
  std::string module{};  ///< path of the file; "[vdso]", "[jit]", "[python]", "[anon]", "[kernel]",
                         ///< "[ext4]"; empty if no code is mapped
  std::uint64_t offset = 0;  ///< bytes into the function; without a name, into the module's file or
                             ///< the mapping; without a module, the address
  std::string build_id{};    ///< of the file, if any
  std::string file{};        ///< source file, and below its line, if asked for and known
  std::uint32_t line = 0;
  bool is_inlined = false;  ///< into the next frame, which has the same address
  bool is_kernel = false;
  bool is_jit = false;            ///< named by the perf map of its process
  bool is_named_by_call = false;  ///< named by the call in the next frame, not by a symbol
  bool is_guessed = false;        ///< found without unwind information
  bool follows_gap = false;       ///< frames may be missing before this one
  bool is_signal = false;         ///< the trampoline of a signal handler
  frame_rule rule{};              ///< rule that finds the next frame, if it is the same each time

  bool operator==(const StackFrame&) const = default;
};
/// The module of frames of Python code. Their address is that of the code object.
inline constexpr std::string_view python_module = "[python]";

/// Whether the code of the frame was made by a runtime of the process: the user's own function.
inline bool is_of_runtime(const StackFrame& frame) {
  return frame.is_jit || frame.module == python_module;
}

/// The name, or `[module+0x1234]`, or `[0x1234]`; never empty.
std::string to_text(const StackFrame& frame);

/// Innermost frame first.
using Stack = std::vector<StackFrame>;

/// The name of the frame in which a thread begins, in a C library whose own function for that has
/// no name. The brackets show that it is not the name of a function.
inline constexpr std::string_view thread_start = "[thread start]";

/// Whether the frame's file is a C library, by its name.
bool is_of_c_library(const StackFrame& frame);

/// Drops frames without a name if the next frame, their caller, has a name and is in the same
/// shared library: they are functions that the library does not export (in the C library, those
/// that make a call), and count as parts of the exported function. Programs keep such frames, since
/// their callers are not exported either.
void fold_unnamed(Stack& stack);

/// Drops the innermost frames, by which the kernel called our BPF program.
void drop_tracing(Stack& stack);

}  // namespace overdue

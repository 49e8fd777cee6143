#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/stack.h"

namespace overdue {

/// Where the code of the program itself lies, the one that was executed, as the kernel says.
struct ProgramCode {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool has(std::uint64_t address) const { return address - start < end - start; }
};

/// Code that the program has made while it runs (a JIT compiler's): it counts as the program's own.
bool is_made_code(const StackFrame& frame);

/// Whether a stack that goes no further than `last` is complete all the same: the dynamic loader's
/// first instructions, where a program begins, have no unwind information in many versions of it.
bool is_entry_of_loader(const StackFrame& last);

/// Which frame of the stack of a system call is the library function that caused it: the one that
/// the program's own code has called, seen from the call outwards. Where no code of the program is
/// among the callers (a thread that begins or ends, the dynamic loader before main), the outermost
/// frame; where a signal handler is, the outermost frame of the handler. Where the program itself
/// has the instruction (static programs), who called the function with it. Nothing where the stack
/// does not tell for certain. `is_complete`: the last frame is where the thread began.
///
/// follow_stack() (src/probes/syscalls/callers.bpf.h) does the same in the kernel, frame by frame.
std::optional<std::size_t> pick_caller(std::span<const StackFrame> frames, bool is_complete,
                                       ProgramCode code);

}  // namespace overdue

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/stack.h"

namespace overdue {

/// Addresses of the code of the executed program itself, [start, end), as the kernel reports them.
struct ProgramCode {
  std::uint64_t start = 0;
  std::uint64_t end = 0;
  bool has(std::uint64_t address) const { return address - start < end - start; }
};

/// Whether a frame is in code that the program has generated at run time (a JIT compiler's). Such
/// code counts as the program's own.
bool is_made_code(const StackFrame& frame);

/// Whether a stack that ends at `last` is complete: in many versions of the dynamic loader, the
/// first instructions, where a program begins, have no unwind information.
bool is_entry_of_loader(const StackFrame& last);

/// Index of the frame, in the stack of a system call, of the library function that caused the call:
/// from the call outwards, the first function that the program's own code has called. If no code of
/// the program is among the callers (a thread that begins or ends, the dynamic loader before main),
/// the outermost frame. If a signal handler is among the callers, the outermost frame of the
/// handler. If the program itself has the system-call instruction (static programs), the caller of
/// the function with the instruction. Nothing if the stack leaves the caller uncertain.
/// `is_complete`: the last frame is where the thread began.
///
/// follow_stack() (src/probes/syscalls/callers.bpf.h) does the same in the kernel, frame by frame.
std::optional<std::size_t> pick_caller(std::span<const StackFrame> frames, bool is_complete,
                                       ProgramCode code);

}  // namespace overdue

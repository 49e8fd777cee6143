#pragma once

#include <cstdint>
#include <string>

#include "core/stack.h"

namespace overdue {

/// Whether a wait with this stack is one of a thread of the kernel's.
bool is_kernel_thread(const Stack& kernel_stack);

/// What a thread of a program is in the kernel for.
enum class KernelSide : std::uint8_t {
  unknown,
  call,         ///< a system call
  before_call,  ///< a system call that seccomp or a tracer has not yet let begin
  page_fault,
  io_uring,  ///< a worker, which serves requests of other threads
};

/// By the stack of the thread in the kernel.
KernelSide kernel_side_of(const Stack& kernel_stack);

/// The system call that the thread is in: "munmap"; empty: none, or not known.
std::string call_in(const Stack& kernel_stack, const Stack& user_stack);

/// Whether a wait with this stack is within a system call.
inline bool is_in_call(const Stack& kernel_stack) {
  return kernel_side_of(kernel_stack) == KernelSide::call;
}

}  // namespace overdue

#include "report/why/kernel_side.h"

#include <algorithm>
#include <string_view>

namespace overdue {

bool is_kernel_thread(const Stack& kernel_stack) {
  return std::ranges::any_of(kernel_stack,
                             [](const StackFrame& frame) { return frame.name == "kthread"; });
}

KernelSide kernel_side_of(const Stack& kernel_stack) {
  // The outermost function that is known decides.
  for (auto frame = kernel_stack.rbegin(); frame != kernel_stack.rend(); ++frame) {
    const std::string_view name = frame->name;
    if (name.find("page_fault") != name.npos) return KernelSide::page_fault;
    if (name == "io_wq_worker" || name == "io_sq_thread") return KernelSide::io_uring;
    const bool is_call = name.starts_with("do_syscall_") || name.starts_with("do_int80_") ||
                         name.starts_with("entry_SYSCALL") || name.starts_with("do_fast_syscall");
    if (!is_call) continue;
    const bool has_begun = std::none_of(frame, kernel_stack.rend(), [](const StackFrame& inner) {
      return inner.name.starts_with("syscall_trace_enter") ||
             inner.name.starts_with("syscall_enter_from_user_mode") ||
             inner.name.starts_with("__seccomp_filter");
    });
    return has_begun ? KernelSide::call : KernelSide::before_call;
  }
  return KernelSide::unknown;
}

}  // namespace overdue

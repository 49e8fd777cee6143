#include "report/why/kernel_side.h"

#include <algorithm>
#include <string_view>

#include "syscalls/names.h"

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

std::string call_in(const Stack& kernel_stack, const Stack& user_stack) {
  if (!is_in_call(kernel_stack)) return {};
  for (auto frame = kernel_stack.rbegin(); frame != kernel_stack.rend(); ++frame)
    if (std::string call = name_from_kernel_symbol(frame->name); !call.empty()) return call;
  // Where the call's own function ends with a jump into another one, the C library's is left.
  if (user_stack.empty() || !is_of_c_library(user_stack.front())) return {};
  std::string_view name = user_stack.front().name;
  name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
  const auto number = syscall_number(ABI_NATIVE, name);
  return number ? std::string(builtin_syscall_name(ABI_NATIVE, *number)) : std::string();
}

}  // namespace overdue

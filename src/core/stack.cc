#include "core/stack.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace overdue {
namespace {

/// Whether `frame` is part of a hook. Other functions may have such names too: use it only on
/// frames of a hook.
bool is_by_tracing(const StackFrame& frame) {
  constexpr std::array<std::string_view, 5> prefixes = {"bpf_", "__bpf_", "__traceiter_",
                                                        "__SCT__tp_func_", "trace_"};
  return frame.module == "[bpf]" ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return frame.name.starts_with(prefix); });
}

std::string_view file_of(const StackFrame& frame) {
  return std::string_view(frame.module).substr(frame.module.rfind('/') + 1);
}

bool is_of_shared_library(const StackFrame& frame) {
  const std::string_view file = file_of(frame);
  return frame.module.starts_with('/') &&
         (file.ends_with(".so") || file.find(".so.") != std::string_view::npos);
}

/// Whether `frame` is a part of the function of `caller`.
bool is_part_of(const StackFrame& frame, const StackFrame& caller) {
  return frame.name.empty() && !caller.name.empty() && is_of_shared_library(frame) &&
         frame.module == caller.module && !frame.is_guessed && !caller.is_guessed &&
         !caller.follows_gap && !caller.is_inlined;
}

}  // namespace

bool is_of_c_library(const StackFrame& frame) {
  const std::string_view file = file_of(frame);
  return file.starts_with("libc.so") || file.starts_with("libpthread.so") ||
         file.starts_with("ld-");
}

// From the outermost frame inwards: an unnamed function that a part calls is a part too.
void fold_unnamed(Stack& stack) {
  for (std::size_t i = stack.size(); i-- > 1;) {
    const StackFrame& frame = stack[i - 1];
    StackFrame& caller = stack[i];
    if (!is_part_of(frame, caller)) continue;
    caller.follows_gap = frame.follows_gap;
    stack.erase(stack.begin() + static_cast<std::ptrdiff_t>(i - 1));
  }
}

void drop_tracing(Stack& stack) {
  stack.erase(stack.begin(), std::find_if_not(stack.begin(), stack.end(), is_by_tracing));
}

std::string to_text(const StackFrame& frame) {
  if (!frame.name.empty()) return frame.name;
  if (frame.module.empty()) return fmt::format("[{:#x}]", frame.offset);
  const std::string& module = frame.module;
  const bool bracketed = module.front() == '[' && module.back() == ']';
  const std::string shown =
      bracketed ? module.substr(1, module.size() - 2) : module.substr(module.rfind('/') + 1);
  return fmt::format("[{}+{:#x}]", shown, frame.offset);
}

}  // namespace overdue

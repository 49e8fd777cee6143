#include "core/stack.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

namespace overdue {
namespace {

/// Such frames; also functions of those names, so only where a hook is sure to be.
bool is_of_tracing(const StackFrame& frame) {
  constexpr std::array<std::string_view, 5> prefixes = {"bpf_", "__bpf_", "__traceiter_",
                                                        "__SCT__tp_func_", "trace_"};
  return frame.module == "[bpf]" ||
         std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return frame.name.starts_with(prefix); });
}

}  // namespace

void drop_tracing(Stack& stack) {
  stack.erase(stack.begin(), std::find_if_not(stack.begin(), stack.end(), is_of_tracing));
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

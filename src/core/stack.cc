#include "core/stack.h"

#include <fmt/format.h>

namespace overdue {

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

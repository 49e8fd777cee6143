#include "analysis/caller.h"

namespace overdue {

bool is_made_code(const StackFrame& frame) {
  const std::string_view module = frame.module;
  if (frame.is_jit) return true;
  if (module.starts_with('[')) return module != "[vdso]" && module != "[vsyscall]";
  return module.starts_with("/memfd:") || module.starts_with("/dev/zero") ||
         module.starts_with("/SYSV");
}

bool is_entry_of_loader(const StackFrame& last) {
  if (last.is_guessed || !(last.rule.flags & FRAME_LOST)) return false;
  const std::string_view file = std::string_view(last.module).substr(last.module.rfind('/') + 1);
  return last.module.starts_with('/') && file.starts_with("ld-");
}

namespace {

/// pick_caller() for a stack whose innermost frame belongs to the program.
std::optional<std::size_t> pick_in_program(std::span<const StackFrame> frames, bool is_complete,
                                           ProgramCode code) {
  if (!code.has(frames[0].address)) return 0;  // generated code: no library is involved
  if (frames.size() == 1) return is_complete ? std::optional<std::size_t>(0) : std::nullopt;
  if (frames[1].is_guessed) return std::nullopt;
  return code.has(frames[1].address) ? 1 : 0;
}

/// In a C library, only clone() makes a system call at an address without unwind information.
bool is_clone_of_library(const StackFrame& frame) {
  if (frame.name.empty()) return is_of_c_library(frame) && frame.rule.flags & FRAME_LOST;
  for (const std::string_view name : {"clone", "__clone", "clone3", "__clone3"})
    if (frame.name == name) return true;
  return false;
}

}  // namespace

std::optional<std::size_t> pick_caller(std::span<const StackFrame> frames, bool is_complete,
                                       ProgramCode code) {
  const auto is_program = [&](const StackFrame& frame) {
    return code.has(frame.address) || is_made_code(frame);
  };
  if (frames.empty() || frames[0].module.empty()) return std::nullopt;
  if (frames[0].is_signal) return 0;
  if (is_program(frames[0])) return pick_in_program(frames, is_complete, code);
  for (std::size_t i = 1; i < frames.size(); ++i) {
    // clone() of the C libraries has no unwind information after its system-call instruction, so
    // that the new thread has no callers. The word at the stack pointer is its return address.
    const bool is_clone = i == 1 && is_clone_of_library(frames[0]);
    if ((frames[i].is_guessed && !is_clone) || frames[i].module.empty()) return std::nullopt;
    if (is_program(frames[i]) || frames[i].is_signal) return i - 1;
  }
  return is_complete ? std::optional(frames.size() - 1) : std::nullopt;
}

}  // namespace overdue

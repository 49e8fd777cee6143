#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/fd.h"
#include "core/stack.h"
#include "resolve/python_code.h"
#include "resolve/python_layout.h"
#include "resolve/resolved_stack.h"

namespace overdue {

/// One call of CPython's interpreter: the Python frames that it runs, innermost first.
using PythonCall = Stack;

/// Names the frames of Python code that BPF programs found, from the memory of their processes.
/// Memory and records are hostile. What was read is kept, so that stacks of processes that have
/// ended since have names too. Bounded. Used by one thread.
class PythonFrames {
 public:
  static constexpr std::size_t max_programs = 256;
  static constexpr std::size_t max_codes = 16384;  ///< of all programs

  /// A process, asked only once for each program that it runs.
  struct Source {
    /// Its memory, or an empty Fd.
    std::function<Fd()> memory;
    std::function<FoundPython(const ReadMemory&)> find;
  };

  /// The calls in `python`, a struct python_stack and its frames, innermost first. None if no
  /// frame has a name, or the bytes are malformed.
  std::vector<PythonCall> calls(std::span<const std::byte> python, const Source& source);

 private:
  using ProgramKey = std::array<std::uint64_t, 4>;
  struct Program {
    Fd memory;
    FoundPython found;
    std::unordered_map<std::uint64_t, PythonCode> codes;  // by address
  };

  Program& program_of(const python_stack& of, const Source& source);
  const PythonCode* code_of(Program& program, const python_frame& frame);
  StackFrame named(Program& program, const python_frame& frame);

  std::map<ProgramKey, Program> programs_;
  std::size_t codes_ = 0;
};

/// Replaces each frame of the interpreter in `stack` by the frames of its call. Calls whose frame
/// of the interpreter is not in the stack, because that is cut short or the frame has no name,
/// follow at the end, each behind a gap.
void merge_python(ResolvedStack& stack, std::vector<PythonCall> calls);

/// Reads `memory`, a /proc/PID/mem.
ReadMemory memory_reader(const Fd& memory);

}  // namespace overdue

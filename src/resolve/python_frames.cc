#include "resolve/python_frames.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

constexpr std::string_view interpreter = "_PyEval_EvalFrameDefault";

/// Also of the parts that a compiler splits off: "….cold".
bool is_interpreter(const StackFrame& frame) {
  return frame.name.starts_with(interpreter) &&
         (frame.name.size() == interpreter.size() || frame.name[interpreter.size()] == '.') &&
         !frame.is_inlined;
}

}  // namespace

ReadMemory memory_reader(const Fd& memory) {
  return [fd = memory.get()](std::uint64_t address, std::span<std::byte> out) {
    constexpr std::uint64_t user_end = 1ull << 56;
    if (fd < 0 || address >= user_end) return false;
    while (!out.empty()) {
      const ssize_t got = pread(fd, out.data(), out.size(), static_cast<off_t>(address));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return false;
      out = out.subspan(static_cast<std::size_t>(got));
      address += static_cast<std::uint64_t>(got);
    }
    return true;
  };
}

std::vector<PythonCall> PythonFrames::calls(std::span<const std::byte> python,
                                            const Source& source) {
  std::vector<PythonCall> calls;
  python_stack fixed{};
  if (python.size() < sizeof fixed) return calls;
  std::memcpy(&fixed, python.data(), sizeof fixed);
  python = python.subspan(sizeof fixed);
  const std::size_t count =
      std::min<std::size_t>({fixed.frames, python.size() / sizeof(python_frame), PYTHON_FRAMES});
  if (count == 0) return calls;
  Program& program = program_of(fixed, source);
  bool is_new = true;
  for (std::size_t i = 0; i < count; ++i) {
    python_frame frame{};
    std::memcpy(&frame, python.data() + i * sizeof frame, sizeof frame);
    const bool is_entry = frame.code & PYTHON_ENTRY;
    frame.code &= ~std::uint64_t{PYTHON_ENTRY};
    if (is_new) calls.emplace_back();
    if (frame.code != 0) calls.back().push_back(named(program, frame));
    is_new = is_entry;
  }
  if (calls.back().empty()) calls.pop_back();  // the mark below the outermost frame
  // Of a process that has ended, the native frames say more.
  const bool has_names = std::ranges::any_of(calls, [](const PythonCall& call) {
    return std::ranges::any_of(call, [](const StackFrame& frame) { return !frame.name.empty(); });
  });
  if (!has_names) calls.clear();
  return calls;
}

PythonFrames::Program& PythonFrames::program_of(const python_stack& of, const Source& source) {
  const ProgramKey key{of.pid, of.program.start_code, of.program.end_code, of.program.start_stack};
  if (const auto known = programs_.find(key); known != programs_.end()) return known->second;
  if (programs_.size() >= max_programs) {
    programs_.clear();
    codes_ = 0;
  }
  Program& program = programs_[key];
  program.memory = source.memory();
  if (program.memory) program.found = source.find(memory_reader(program.memory));
  return program;
}

/// Null unless the code is still that of the frame, by its name's address.
const PythonCode* PythonFrames::code_of(Program& program, const python_frame& frame) {
  if (program.found.support != PythonSupport::yes || frame.qualname == 0) return nullptr;
  const auto known = program.codes.find(frame.code);
  if (known != program.codes.end() && known->second.name_at == frame.qualname)
    return &known->second;
  auto read = read_python_code(program.found.layout, frame.code, memory_reader(program.memory));
  if (!read || read->name_at != frame.qualname) return nullptr;
  if (codes_ >= max_codes) {
    for (auto& [key, each] : programs_) each.codes.clear();
    codes_ = 0;
  }
  ++codes_;
  return &(program.codes[frame.code] = std::move(*read));
}

StackFrame PythonFrames::named(Program& program, const python_frame& frame) {
  StackFrame made{.address = frame.code, .module = std::string(python_module)};
  const PythonCode* code = code_of(program, frame);
  if (!code) {
    made.offset = frame.code;
    return made;
  }
  made.name = code->name;
  made.file = code->file;
  if (frame.instruction >= code->instructions)
    made.line = python_line(code->lines, code->first_line, frame.instruction - code->instructions);
  if (made.line == 0) made.line = code->first_line;
  if (made.file.empty()) made.line = 0;
  return made;
}

void merge_python(ResolvedStack& stack, std::vector<PythonCall> calls) {
  Stack merged;
  std::size_t next = 0;
  const auto add = [&](PythonCall& call) {
    for (StackFrame& frame : call) {
      stack.unresolved += frame.name.empty();
      merged.push_back(std::move(frame));
    }
  };
  for (StackFrame& frame : stack.frames) {
    if (next >= calls.size() || !is_interpreter(frame)) {
      merged.push_back(std::move(frame));
      continue;
    }
    PythonCall& call = calls[next++];
    if (!call.empty()) call.front().follows_gap = frame.follows_gap;
    add(call);
  }
  for (; next < calls.size(); ++next) {
    if (!calls[next].empty()) calls[next].front().follows_gap = true;
    add(calls[next]);
  }
  stack.frames = std::move(merged);
}

}  // namespace overdue

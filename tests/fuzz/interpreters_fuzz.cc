// Any bytes, as a library of an interpreter and as the memory of its process: CPython's code
// objects and frames, and the threads of a Java virtual machine. No crash, no endless search, only
// printable names of bounded length, and no thread that was not asked for.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "resolve/java_threads.h"
#include "resolve/python_code.h"
#include "resolve/python_frames.h"
#include "resolve/python_layout.h"

namespace overdue {
namespace {

constexpr std::uint64_t loaded_at = 0x7f0000000000;  // pointers in the kept inputs count from there
constexpr std::size_t codes_tried = 256, longest_name = 4096, longest_java_name = 256;

void require(bool holds) {
  if (!holds) std::abort();
}

void check_printable(std::string_view text) {
  require(text.size() <= longest_name + 4);
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    require(length > 0);
    text.remove_prefix(length);
  }
}

/// A process that has the library at `loaded_at`, and no other memory.
class Process {
 public:
  explicit Process(std::span<const std::byte> library) : library_(library) {}

  Mapping mapping(std::string_view path) const {
    return {.start = loaded_at, .end = loaded_at + library_.size(), .inode = 1, .path = path};
  }
  ReadMemory memory() const {
    return [library = library_](std::uint64_t address, std::span<std::byte> out) {
      const std::uint64_t at = address - loaded_at;
      if (address < loaded_at || at > library.size() || out.size() > library.size() - at)
        return false;
      if (!out.empty()) std::memcpy(out.data(), library.data() + at, out.size());
      return true;
    };
  }
  /// Its /proc/PID/mem.
  Fd file() const {
    Fd file(memfd_create("memory", MFD_CLOEXEC));
    require(pwrite(file.get(), library_.data(), library_.size(), loaded_at) ==
            static_cast<ssize_t>(library_.size()));
    return file;
  }

 private:
  std::span<const std::byte> library_;
};

/// The words of the input that are addresses within it: code objects are likely to be there.
std::vector<std::uint64_t> addresses(std::span<const std::byte> input) {
  std::vector<std::uint64_t> found;
  for (std::size_t at = 0; at + 8 <= input.size() && found.size() < codes_tried; at += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, input.data() + at, sizeof word);
    if (word - loaded_at < input.size()) found.push_back(word);
  }
  return found;
}

void check_code(const PythonCode& code) {
  require(!code.name.empty());
  check_printable(code.name);
  check_printable(code.file);
  for (const std::uint64_t offset : {0ull, 2ull, 500ull, ~0ull})
    require(python_line(code.lines, code.first_line, offset) <= INT32_MAX);
}

void read_python(std::span<const std::byte> input) {
  const Process process(input);
  const FoundPython found =
      find_python(process.mapping("/usr/lib/libpython3.so"), FileBytes(input), process.memory());
  require(found.support <= last_python_support);
  if (found.support != PythonSupport::yes) return;
  python_stack fixed{};
  std::vector<python_frame> frames;
  for (const std::uint64_t address : addresses(input)) {
    const auto code = read_python_code(found.layout, address, process.memory());
    if (code) check_code(*code);
    const bool is_entry = frames.size() % 2;
    frames.push_back({.code = address | (is_entry ? PYTHON_ENTRY : 0u),
                      .instruction = address + found.layout.instructions,
                      .qualname = code ? code->name_at : address});
  }
  fixed.frames = static_cast<decltype(fixed.frames)>(frames.size());
  std::vector<std::byte> record(sizeof fixed + frames.size() * sizeof(python_frame));
  std::memcpy(record.data(), &fixed, sizeof fixed);
  if (!frames.empty())
    std::memcpy(record.data() + sizeof fixed, frames.data(), frames.size() * sizeof(python_frame));
  PythonFrames names;
  const PythonFrames::Source source{.memory = [&] { return process.file(); },
                                    .find = [&](const ReadMemory&) { return found; }};
  for (const PythonCall& call : names.calls(record, source))
    for (const StackFrame& frame : call) {
      check_printable(frame.name);
      check_printable(frame.file);
    }
  // The input's own bytes, as a record.
  names.calls(input, source);
}

void read_java(std::span<const std::byte> input) {
  const Process process(input);
  const std::array<NamedThread, 2> cut{NamedThread{.tid = 4711, .name = "AsyncAppender-W"},
                                       NamedThread{.tid = 1, .name = "x"}};
  const auto named = java_thread_names(process.mapping("/usr/lib/libjvm.so"), FileBytes(input),
                                       process.memory(), cut);
  for (const NamedThread& thread : named) {
    const auto asked = std::ranges::find(cut, thread.tid, &NamedThread::tid);
    require(asked != cut.end());
    require(thread.name.starts_with(asked->name) && thread.name.size() > asked->name.size());
    require(thread.name.size() <= longest_java_name + 4);
  }
}

}  // namespace
}  // namespace overdue

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto input = std::as_bytes(std::span(data, size));
  overdue::read_python(input);
  overdue::read_java(input);
  return 0;
}

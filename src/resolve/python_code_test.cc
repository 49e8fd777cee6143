#include "resolve/python_code.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <random>
#include <string_view>

#include "resolve/python_frames.h"

namespace overdue {
namespace {

constexpr std::uint64_t base = 0x10000, code_at = base + 0x100, name_at = base + 0x1000,
                        file_at = base + 0x2000, lines_at = base + 0x3000, end = base + 0x5000;
constexpr std::uint64_t code_type = 0x71, unicode_type = 0x72, bytes_type = 0x73;

/// As CPython 3.11 on x86-64.
PythonLayout layout_of_test() {
  PythonLayout layout{.code_type = code_type,
                      .unicode_type = unicode_type,
                      .bytes_type = bytes_type,
                      .filename = 112,
                      .qualname = 128,
                      .line_table = 136,
                      .first_line = 72,
                      .instructions = 184,
                      .string_data = 48};
  layout.runtime.qualname = 128;
  return layout;
}

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) bytes.push_back(static_cast<std::byte>(value));
  return bytes;
}

/// The memory of a process with one code object.
class Image {
 public:
  Image() : bytes_(end - base) {
    put(code_at + 8, code_type);
    put(code_at + 72, std::uint32_t{40});
    put(code_at + 112, file_at);
    put(code_at + 128, name_at);
    put(code_at + 136, lines_at);
    ascii(name_at, "Server.handle");
    ascii(file_at, "/srv/app.py");
    // 3 instructions of line 40, 2 of line 41 (no columns), 1 without a line, 1 of line 39.
    line_table(bytes_of({0x80 | 10 << 3 | 2, 0, 0, 0x80 | 13 << 3 | 1, 2, 0x80 | 15 << 3 | 0,
                         0x80 | 13 << 3 | 0, 5}));
  }

  template <typename T>
  void put(std::uint64_t address, T value) {
    std::memcpy(bytes_.data() + (address - base), &value, sizeof value);
  }
  void ascii(std::uint64_t at, std::string_view text) {
    put(at + 8, unicode_type);
    put(at + 16, std::uint64_t{text.size()});
    put(at + 32, std::uint32_t{1 << 2 | 1 << 5 | 1 << 6});
    std::memcpy(bytes_.data() + (at + 48 - base), text.data(), text.size());
  }
  void line_table(const std::vector<std::byte>& table) {
    put(lines_at + 8, bytes_type);
    put(lines_at + 16, std::uint64_t{table.size()});
    std::memcpy(bytes_.data() + (lines_at + 32 - base), table.data(), table.size());
  }
  std::vector<std::byte>& bytes() { return bytes_; }

  ReadMemory reader() const {
    return [this](std::uint64_t address, std::span<std::byte> out) {
      if (address < base || address > end || out.size() > end - address) return false;
      std::memcpy(out.data(), bytes_.data() + (address - base), out.size());
      return true;
    };
  }
  std::optional<PythonCode> read() const {
    return read_python_code(layout_of_test(), code_at, reader());
  }

 private:
  std::vector<std::byte> bytes_;
};

TEST(PythonCode, HasItsNameFileAndLines) {
  const auto code = Image().read();
  ASSERT_TRUE(code);
  EXPECT_EQ(code->name, "Server.handle");
  EXPECT_EQ(code->file, "/srv/app.py");
  EXPECT_EQ(code->first_line, 40u);
  EXPECT_EQ(code->name_at, name_at);
  EXPECT_EQ(code->instructions, code_at + 184);
  const auto line = [&](std::uint64_t offset) { return python_line(code->lines, 40, offset); };
  EXPECT_EQ(line(0), 40u);
  EXPECT_EQ(line(5), 40u);
  EXPECT_EQ(line(6), 41u);
  EXPECT_EQ(line(9), 41u);
  EXPECT_EQ(line(10), 0u) << "code without a line";
  EXPECT_EQ(line(12), 39u);
  EXPECT_EQ(line(14), 0u) << "behind the code";
}

TEST(PythonCode, WideNamesAreText) {
  Image image;
  image.put(name_at + 16, std::uint64_t{2});
  image.put(name_at + 32, std::uint32_t{2 << 2 | 1 << 5});
  image.put(name_at + 72, std::uint16_t{0xe4});
  image.put(name_at + 74, std::uint16_t{0x20ac});
  EXPECT_EQ(image.read()->name, "ä€");
}

TEST(PythonCode, ObjectsOfOtherTypesAreNone) {
  for (const std::uint64_t object : {code_at, name_at}) {
    Image image;
    image.put(object + 8, std::uint64_t{0x99});
    EXPECT_FALSE(image.read()) << object;
  }
  Image no_file;
  no_file.put(file_at + 8, std::uint64_t{0x99});
  EXPECT_EQ(no_file.read()->file, "");
  Image no_lines;
  no_lines.put(lines_at + 8, std::uint64_t{0x99});
  EXPECT_TRUE(no_lines.read()->lines.empty());
  EXPECT_FALSE(read_python_code(layout_of_test(), 0, no_lines.reader()));
  EXPECT_FALSE(read_python_code(layout_of_test(), end, no_lines.reader()));
}

TEST(PythonCode, LengthsAreBounded) {
  Image image;
  image.put(lines_at + 16, ~std::uint64_t{0});
  EXPECT_TRUE(image.read()->lines.empty());
  image.put(name_at + 16, ~std::uint64_t{0});
  const auto code = image.read();
  EXPECT_TRUE(!code || code->name.size() <= 4 * 4096u);
}

TEST(PythonCode, DamagedMemoryIsRead) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20'000; ++i) {
    Image image;
    for (int change = 0; change < 4; ++change) {
      constexpr std::uint64_t places[] = {code_at, name_at, file_at, lines_at};
      image.put(places[random() % 4] + random() % 184, static_cast<std::uint8_t>(random()));
    }
    if (const auto code = image.read())
      for (std::uint64_t offset = 0; offset < 40; offset += 2)
        python_line(code->lines, code->first_line, offset);
  }
}

// ── the frames of a stack ──

std::vector<std::byte> stack_of(std::initializer_list<python_frame> frames) {
  python_stack fixed{};
  fixed.pid = 7;
  fixed.frames = static_cast<std::uint16_t>(frames.size());
  std::vector<std::byte> bytes(sizeof fixed + frames.size() * sizeof(python_frame));
  std::memcpy(bytes.data(), &fixed, sizeof fixed);
  std::memcpy(bytes.data() + sizeof fixed, std::data(frames), frames.size() * sizeof(python_frame));
  return bytes;
}

PythonCall call_of(std::initializer_list<const char*> names) {
  PythonCall call;
  for (const char* name : names)
    call.push_back({.name = name, .module = std::string(python_module)});
  return call;
}

std::string names_of(const Stack& stack) {
  std::string names;
  for (const StackFrame& frame : stack) names += to_text(frame) + " ";
  return names;
}

ResolvedStack native(std::initializer_list<const char*> names) {
  ResolvedStack stack;
  for (const char* name : names) stack.frames.push_back({.name = name, .module = "/python"});
  return stack;
}

TEST(PythonFrames, CallsReplaceTheInterpreter) {
  ResolvedStack stack =
      native({"poll", "_PyEval_EvalFrameDefault", "sort", "_PyEval_EvalFrameDefault.cold", "main"});
  merge_python(stack, {call_of({"key", "by"}), call_of({"work", "<module>"})});
  EXPECT_EQ(names_of(stack.frames), "poll key by sort work <module> main ");
}

TEST(PythonFrames, CallsBeyondAShortStackFollowAtItsEnd) {
  ResolvedStack stack = native({"poll", "_PyEval_EvalFrameDefault", "sort"});
  merge_python(stack, {call_of({"key"}), call_of({"work", "<module>"})});
  EXPECT_EQ(names_of(stack.frames), "poll key sort work <module> ");
  EXPECT_FALSE(stack.frames[1].follows_gap);
  EXPECT_TRUE(stack.frames[3].follows_gap);
}

TEST(PythonFrames, TheInterpreterStaysWithoutACall) {
  ResolvedStack stack = native({"_PyEval_EvalFrameDefault", "x", "_PyEval_EvalFrameDefault"});
  merge_python(stack, {call_of({"work"})});
  EXPECT_EQ(names_of(stack.frames), "work x _PyEval_EvalFrameDefault ");
}

TEST(PythonFrames, WithoutNamesThereAreNoCalls) {
  PythonFrames frames;
  int reads = 0;
  const PythonFrames::Source source{.memory = [] { return Fd(); },
                                    .find =
                                        [&](const ReadMemory&) {
                                          ++reads;
                                          return FoundPython{.support = PythonSupport::yes};
                                        }};
  EXPECT_TRUE(frames.calls(stack_of({{code_at, code_at + 184, name_at}}), source).empty());
  EXPECT_EQ(reads, 0) << "there was no memory to look at";
  auto bytes = stack_of({{code_at, 0, 0}});
  bytes[offsetof(python_stack, frames)] = std::byte{0xff};
  EXPECT_TRUE(frames.calls(bytes, source).empty());
  bytes.resize(sizeof(python_stack) - 1);
  EXPECT_TRUE(frames.calls(bytes, source).empty());
  EXPECT_TRUE(frames.calls({}, source).empty());
}

/// The test's own memory as that of a Python process.
TEST(PythonFrames, FramesAreNamedWhileTheirCodeIsTheSame) {
  Image image;
  const std::uint64_t shift = reinterpret_cast<std::uint64_t>(image.bytes().data()) - base;
  for (const std::uint64_t field : {112u, 128u, 136u}) {
    std::uint64_t address = 0;
    std::memcpy(&address, image.bytes().data() + (code_at - base) + field, sizeof address);
    image.put(code_at + field, address + shift);
  }
  const std::uint64_t code = code_at + shift;
  const PythonFrames::Source source{
      .memory = [] { return Fd(open("/proc/self/mem", O_RDONLY | O_CLOEXEC)); },
      .find =
          [](const ReadMemory&) {
            return FoundPython{.support = PythonSupport::yes, .layout = layout_of_test()};
          }};
  PythonFrames frames;
  const auto named = stack_of({{code, code + 184 + 6, name_at + shift},
                               {code | PYTHON_ENTRY, code + 184, name_at + shift},
                               {8, 0, 0}});
  const auto calls = frames.calls(named, source);
  ASSERT_EQ(calls.size(), 2u);
  EXPECT_EQ(names_of(calls[0]), "Server.handle Server.handle ");
  EXPECT_EQ(calls[0][0].line, 41u);
  EXPECT_EQ(calls[0][1].line, 40u);
  EXPECT_EQ(calls[0][0].file, "/srv/app.py");
  EXPECT_EQ(names_of(calls[1]), "[python+0x8] ");
  image.put(code_at + 8, std::uint64_t{0x99});
  EXPECT_EQ(frames.calls(named, source).size(), 2u) << "kept after the code is gone";
  EXPECT_TRUE(frames.calls(stack_of({{code, code + 184, name_at}}), source).empty())
      << "other code at the same address";
}

}  // namespace
}  // namespace overdue

// Stacks from the data in a span's record: the registers, and one copy of memory. The programs run
// anywhere, or no longer.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "unwind/stopped.h"

// clang-tidy does not see that ASSERT_TRUE leaves the test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
namespace overdue {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using unwind_test::capture_span;
using unwind_test::Captured;
using unwind_test::fixtures;
using unwind_test::memory_of;
using unwind_test::Stopped;
using Command = std::vector<std::string>;
using Reason = UnwindEnd::Reason;

TEST(Span, EachRegisterAndTheRedZone) {
  user_registers registers{};
  std::array<std::uint64_t, register_count> values;
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = 0x1000 + i;
  std::memcpy(&registers, values.data(), sizeof registers);
  const std::array<std::uint64_t, 20> memory = {7};
  const auto bytes = std::as_bytes(std::span(memory));
  const StackSnapshot snapshot = snapshot_of(registers, bytes);
  for (std::size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(snapshot.registers.get(Register(i)), values[i]);
  EXPECT_EQ(registers.rsp, *snapshot.registers.get(Register::rsp));
  EXPECT_EQ(registers.rip, *snapshot.registers.get(Register::rip));
  EXPECT_EQ(snapshot.stack.read(registers.rsp - 128), 7u);
  EXPECT_EQ(snapshot.stack.read(registers.rsp + 24), 0u);
  EXPECT_FALSE(snapshot.stack.read(registers.rsp + 32));
  EXPECT_FALSE(snapshot_of({}, bytes).stack.read(0)) << "there is nothing below 0";
}

class SpanOf : public testing::TestWithParam<const char*> {};

// A span ends after the instruction `syscall`, in the C library's wrapper.
TEST_P(SpanOf, ASystemCall) {
  Stopped stopped(GetParam(), "wrapper");
  for (int stops = 0; stops < 2; ++stops) {
    int status = 0;
    ptrace(PTRACE_SYSCALL, stopped.tid, nullptr, nullptr);
    ASSERT_EQ(waitpid(stopped.tid, &status, __WALL), stopped.tid);
    ASSERT_TRUE(WIFSTOPPED(status));
  }
  const Captured captured = capture_span(stopped.tid);
  auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, captured.snapshot));
  // Since glibc 2.41, write() calls two more functions, which may have no names.
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with("[libc.so.6+") || name.find("syscall_cancel") != std::string::npos;
  });
  EXPECT_THAT(names,
              ElementsAre(AnyOf("write", "__write", "__libc_write"), "wrapper_case", "main"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
}

TEST_P(SpanOf, AThread) {
  Stopped stopped(GetParam(), "thread");
  const Captured captured = capture_span(stopped.tid);
  const auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, captured.snapshot));
  EXPECT_THAT(names, ElementsAre("leaf", "middle", "thread_begin"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
}

// One copy does not reach the stack that a handler with a stack of its own has interrupted: the
// walk ends there.
TEST_P(SpanOf, ASignalWithItsOwnStack) {
  Stopped stopped(GetParam(), "alternate");
  const Captured captured = capture_span(stopped.tid);
  const UnwoundStack cut = stopped.unwinder.unwind(*stopped.space, captured.snapshot);
  EXPECT_EQ(cut.end.reason, Reason::end_of_copy);
  EXPECT_THAT(stopped.names(cut),
              ElementsAre("leaf", "on_illegal", testing::_, "interrupted_leaf"));

  StackSnapshot both = captured.snapshot;
  const std::uint64_t stack_pointer = *both.registers.get(Register::rsp) - USER_RED_ZONE;
  std::vector<std::byte> interrupted;
  for (const Mapping& mapping : stopped.space->maps().all())
    if (mapping.path == "[stack]") {
      interrupted = memory_of(stopped.tid, mapping.start, mapping.end - mapping.start);
      both.stack = StackCopy({{.address = mapping.start, .bytes = interrupted},
                              {.address = stack_pointer, .bytes = captured.bytes}});
    }
  ASSERT_FALSE(interrupted.empty());
  const auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, both));
  EXPECT_THAT(names, ElementsAre("leaf", "on_illegal", testing::_, "interrupted_leaf",
                                 "alternate_case", "main"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
}

INSTANTIATE_TEST_SUITE_P(Programs, SpanOf,
                         testing::Values("stacks", "stacks_lazy", "stacks_static",
                                         "stacks_no_header"),
                         [](const auto& param) { return std::string(param.param); });

/// A copy of a fixture under another name; the destructor removes it.
class Copy {
 public:
  explicit Copy(const std::string& fixture)
      : path(fmt::format("{}overdue-unwind-{}-{}", testing::TempDir(), getpid(), fixture)) {
    std::filesystem::copy_file(fixtures + "/" + fixture, path);
  }
  ~Copy() { unlink(path.c_str()); }
  Copy(const Copy&) = delete;
  Copy& operator=(const Copy&) = delete;
  const std::string path;
};

TEST(Span, OfADeletedProgram) {
  if (geteuid() != 0) GTEST_SKIP() << "map_files need root";
  std::optional<Copy> copy("stacks");
  Stopped stopped(Command{copy->path, "middle"});
  copy.reset();
  const Captured captured = capture_span(stopped.tid);
  const auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, captured.snapshot));
  EXPECT_THAT(names, ElementsAre("leaf", "middle", "main"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
}

TEST(Span, OfAProgramThatIsReplaced) {
  const Copy copy("stacks");
  Stopped stopped(Command{copy.path, "middle"});
  const Captured captured = capture_span(stopped.tid);
  stopped.end();
  // Otherwise its inode may be reused.
  const Fd kept(open(copy.path.c_str(), O_RDONLY | O_CLOEXEC));
  unlink(copy.path.c_str());
  std::filesystem::copy_file(fixtures + "/stacks_lazy", copy.path);
  const UnwoundStack stack = stopped.unwinder.unwind(*stopped.space, captured.snapshot);
  EXPECT_EQ(stack.end.reason, Reason::no_cfi) << "what another file says is not believed";
  EXPECT_EQ(stack.end.module, copy.path);
}

TEST(Span, OfAProgramOfAnotherMountNamespace) {
  if (geteuid() != 0 || std::system("unshare -m true 2>/dev/null") != 0)
    GTEST_SKIP() << "cannot make a mount namespace";
  const std::string folder = fmt::format("{}overdue-unwind-{}", testing::TempDir(), getpid());
  std::filesystem::create_directory(folder);
  Stopped stopped(
      Command{"unshare", "-m", "sh", "-c",
              fmt::format("mount -t tmpfs none {0} && cp {1}/stacks {1}/plugin.so {0} && exec "
                          "{0}/stacks plugin",
                          folder, fixtures)});
  EXPECT_FALSE(std::filesystem::exists(folder + "/stacks"));
  std::filesystem::remove(folder);
  const Captured captured = capture_span(stopped.tid);
  const auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, captured.snapshot));
  EXPECT_THAT(names, ElementsAre("leaf", "middle", "plugin_entry", "plugin_case", "main"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
}

TEST(Span, OfAProcessThatHasExited) {
  for (const char* scenario : {"middle", "signal", "catch", "plugin"}) {
    SCOPED_TRACE(scenario);
    Stopped stopped("stacks", scenario);
    const Captured captured = capture_span(stopped.tid);
    const UnwoundStack before = stopped.unwind();
    stopped.end();
    EXPECT_FALSE(ProcessMaps::read(stopped.tid));
    Unwinder afterwards;
    AddressSpace space(stopped.tid, std::move(stopped.maps));
    const UnwoundStack stack = afterwards.unwind(space, captured.snapshot);
    EXPECT_EQ(to_text(stack.end), "complete");
    EXPECT_EQ(stack.frames.size(), before.frames.size());
    EXPECT_THAT(stopped.names(stack), testing::Contains("main"));
  }
}

// Frame pointers alone are enough.
TEST(Span, OfAGoroutine) {
  Stopped stopped(Command{fixtures + "/goroutine"});
  const Captured captured = capture_span(stopped.tid);
  const auto names = stopped.names(stopped.unwinder.unwind(*stopped.space, captured.snapshot));
  EXPECT_THAT(names, ElementsAre("system_call", "raw_call", "wrapper", "runtime_main", "goexit"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
  const FramePointerWalk walk = walk_frame_pointers(*stopped.space, captured.snapshot);
  EXPECT_TRUE(walk.is_complete);
  EXPECT_EQ(walk.addresses.size(), 4u) << "the leaf's caller has made no link of its own";
}

}  // namespace
}  // namespace overdue
// NOLINTEND(bugprone-unchecked-optional-access)

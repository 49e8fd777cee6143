// Programs that stop at places with a known stack.

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

#include <poll.h>

#include "unwind/stopped.h"

// clang-tidy does not see that ASSERT_TRUE leaves the test.
// NOLINTBEGIN(bugprone-unchecked-optional-access)
namespace overdue {
namespace {

using testing::ElementsAre;
using unwind_test::capture;
using unwind_test::Captured;
using unwind_test::Child;
using unwind_test::names_of;
using unwind_test::Stopped;
using Reason = UnwindEnd::Reason;

class Stacks : public testing::TestWithParam<const char*> {
 protected:
  /// The stack must be complete up to the first instruction of the program.
  std::vector<std::string> names(const std::string& scenario) {
    Stopped stopped(GetParam(), scenario);
    auto names = stopped.names();
    EXPECT_EQ(to_text(stopped.stack.end), "complete");
    if (scenario != "thread") {
      EXPECT_FALSE(stopped.rest.empty());
      if (!stopped.rest.empty()) {
        EXPECT_EQ(stopped.rest.back(), "_start");
      }
    }
    stack_ = stopped.stack;
    return names;
  }
  UnwoundStack stack_;
};

TEST_P(Stacks, WithoutFramePointers) {
  EXPECT_THAT(names("middle"), ElementsAre("leaf", "middle", "main"));
  for (std::size_t i = 1; i < stack_.frames.size(); ++i)
    EXPECT_EQ(stack_.frames[i].source, UnwoundFrame::Source::cfi);
}

TEST_P(Stacks, FramesOfVariableSize) {
  EXPECT_THAT(names("variable_frame"), ElementsAre("leaf", "middle", "variable_frame", "main"));
  EXPECT_THAT(names("realigned"), ElementsAre("leaf", "middle", "realigned", "main"));
}

TEST_P(Stacks, Recursion) {
  const auto found = names("recurse");
  ASSERT_EQ(found.size(), 103u);
  EXPECT_EQ(std::ranges::count(found, "recurse"), 101);
}

TEST_P(Stacks, ThroughASignalInALeaf) {
  EXPECT_THAT(names("signal"), ElementsAre("leaf", "on_illegal", testing::_, "interrupted_leaf",
                                           "signal_case", "main"));
  EXPECT_TRUE(stack_.frames[2].is_signal_frame);
  EXPECT_EQ(stack_.frames[3].kind, AddressKind::instruction);
  EXPECT_EQ(stack_.frames[4].kind, AddressKind::return_address);
}

TEST_P(Stacks, ThroughASignalInASystemCall) {
  const auto found = names("raise");
  ASSERT_GE(found.size(), 6u);
  EXPECT_EQ(found[1], "on_signal");
  EXPECT_TRUE(stack_.frames[2].is_signal_frame);
  EXPECT_EQ(found[found.size() - 2], "raise_case");
}

TEST_P(Stacks, CxxExceptions) {
  if (GetParam() == std::string("stacks_no_header")) GTEST_SKIP() << "they need the header";
  EXPECT_THAT(names("catch"), ElementsAre("leaf", "catch_case", "main"));
  const auto cleanup = names("cleanup");
  EXPECT_EQ(cleanup.front(), "leaf");
  EXPECT_EQ(cleanup[cleanup.size() - 2], "cleanup_case");
  EXPECT_LE(cleanup.size(), 4u);
}

TEST_P(Stacks, ThroughTheCLibrary) {
  const auto found = names("sort");
  ASSERT_GE(found.size(), 4u);
  EXPECT_EQ(found[found.size() - 2], "sort_case");
}

TEST_P(Stacks, OfAThread) {
  EXPECT_THAT(names("thread"), ElementsAre("leaf", "middle", "thread_begin"));
}

TEST_P(Stacks, OfALoadedLibrary) {
  if (GetParam() == std::string("stacks_static")) GTEST_SKIP() << "loads none";
  EXPECT_THAT(names("plugin"),
              ElementsAre("leaf", "middle", "plugin_entry", "plugin_case", "main"));
}

TEST_P(Stacks, AfterACallOfNothing) {
  const auto found = names("null");
  ASSERT_GE(found.size(), 2u);
  EXPECT_EQ(found[1], "null_case");
  EXPECT_EQ(stack_.frames[1].source, UnwoundFrame::Source::stack_top);
}

INSTANTIATE_TEST_SUITE_P(Programs, Stacks,
                         testing::Values("stacks", "stacks_lazy", "stacks_static",
                                         "stacks_no_header"),
                         [](const auto& param) { return std::string(param.param); });

// Prologues, epilogues, PLT stubs, the loader's lazy binding, the C library: at every instruction,
// the rest of the stack is the same.
class EachInstruction : public testing::TestWithParam<const char*> {};

constexpr std::size_t vdso_steps = 500;

/// Steps on without unwinding until the thread is far from `address`: out of the vdso, if `address`
/// is in it.
void leave(pid_t tid, std::uint64_t address) {
  constexpr std::uint64_t vdso_bytes = 8192;
  user_regs_struct registers{};
  int status = 0;
  do {
    ptrace(PTRACE_SINGLESTEP, tid, nullptr, nullptr);
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) return;
    ptrace(PTRACE_GETREGS, tid, nullptr, &registers);
  } while (registers.rip + vdso_bytes - address < 2 * vdso_bytes);
}

TEST_P(EachInstruction, HasTheSameCallers) {
  Stopped stopped(GetParam(), "stepped");
  std::vector<std::uint64_t> above;
  for (const UnwoundFrame& frame : stopped.unwind().frames) above.push_back(frame.address);
  ASSERT_GE(above.size(), 3u);
  above.erase(above.begin());  // stepped() itself goes on
  std::size_t steps = 0, wrong = 0, in_vdso = 0;
  for (int status = 0; steps < 20000; ++steps) {
    ptrace(PTRACE_SINGLESTEP, stopped.tid, nullptr, nullptr);
    const bool has_stepped = waitpid(stopped.tid, &status, __WALL) == stopped.tid &&
                             WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP;
    ASSERT_TRUE(has_stepped) << "step " << steps << ": " << std::hex << status;
    const Captured captured = capture(stopped.tid, 8192);
    const UnwoundStack stack = stopped.unwinder.unwind(*stopped.space, captured.snapshot);
    std::vector<std::uint64_t> addresses;
    for (const UnwoundFrame& frame : stack.frames) addresses.push_back(frame.address);
    const bool is_same = addresses.size() > above.size() && stack.end.reason == Reason::bottom &&
                         std::equal(above.rbegin(), above.rend(), addresses.rbegin());
    if (!is_same && ++wrong < 10) {
      std::string names;
      for (const auto& name : names_of(stopped.symbolizer, *stopped.process, stack))
        names += name + " ";
      ADD_FAILURE() << "step " << steps << ": " << names << to_text(stack.end);
    }
    const auto leaf = stopped.symbolizer.user_frame(*stopped.process, addresses[0]);
    // The vdso reads a clock again if it has changed meanwhile: with single steps, it always has.
    if (leaf.module == "[vdso]" && ++in_vdso % vdso_steps == 0) leave(stopped.tid, addresses[0]);
    if (leaf.symbol == "leaf" && leaf.offset > 4 && steps > 100) break;
  }
  EXPECT_GT(steps, 200u);
  EXPECT_LT(steps, 20000u);
  EXPECT_EQ(wrong, 0u) << "of " << steps;
  EXPECT_GT(in_vdso, 5u);
}

INSTANTIATE_TEST_SUITE_P(Programs, EachInstruction,
                         testing::Values("stacks", "stacks_lazy", "stacks_static"),
                         [](const auto& param) { return std::string(param.param); });

TEST(Stack, DeeperThanTheLimit) {
  Stopped stopped("stacks", "deep");
  stopped.names();
  EXPECT_EQ(stopped.stack.end.reason, Reason::limit);
  EXPECT_EQ(stopped.stack.frames.size(), 512u);
}

TEST(Stack, CopyEnds) {
  Stopped stopped("stacks", "recurse");
  const UnwoundStack stack = stopped.unwind(300);
  EXPECT_EQ(stack.end.reason, Reason::end_of_copy);
  EXPECT_GT(stack.frames.size(), 3u);
  EXPECT_LT(stack.frames.size(), 100u);
}

TEST(Stack, ByFramePointersWhereThereIsNothingElse) {
  Stopped stopped("pointers", "middle");
  const auto names = stopped.names();
  EXPECT_THAT(names, ElementsAre("leaf", "middle", "main"));
  EXPECT_EQ(stopped.stack.frames[2].source, UnwoundFrame::Source::frame_pointer);
  const Captured captured = capture(stopped.tid);
  const FramePointerWalk walk = walk_frame_pointers(*stopped.space, captured.snapshot);
  ASSERT_GE(walk.addresses.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(walk.addresses[i], stopped.stack.frames[i].address);
}

TEST(Stack, WhatHasNeitherCfiNorAFrameLeavesAGap) {
  Stopped stopped("pointers", "frameless");
  // outer() called frameless(), whose frame pointer is that of outer().
  EXPECT_THAT(stopped.names(), ElementsAre("leaf", "frameless", "main"));
  const auto& frames = stopped.stack.frames;
  for (std::size_t i = 0; i < frames.size(); ++i) EXPECT_EQ(frames[i].follows_gap, i == 2) << i;
}

TEST(Stack, FramePointersThatAreKeptLeaveNoGap) {
  Stopped stopped("pointers", "middle");
  EXPECT_THAT(stopped.names(), ElementsAre("leaf", "middle", "main"));
  for (const UnwoundFrame& frame : stopped.stack.frames) EXPECT_FALSE(frame.follows_gap);
}

TEST(Stack, ByWhatIsThereForDebuggers) {
  Stopped stopped("debug_frame", "middle");
  EXPECT_THAT(stopped.names(), ElementsAre("leaf", "middle", "main"));
  EXPECT_EQ(to_text(stopped.stack.end), "complete");
  for (std::size_t i = 1; i < stopped.stack.frames.size(); ++i)
    EXPECT_EQ(stopped.stack.frames[i].source, UnwoundFrame::Source::cfi);
}

TEST(Stack, OfALeafWithoutAFrame) {
  Stopped stopped("pointers", "bare");
  EXPECT_THAT(stopped.names(), ElementsAre("bare_leaf", "caller", "main"));
  EXPECT_EQ(stopped.stack.frames[1].source, UnwoundFrame::Source::stack_top);
}

// Otherwise a reader of the test's output, such as ctest, waits for the processes that the child
// has started.
TEST(Child, LeavesNobody) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Fd here(ends[0]);
  Fd there(ends[1]);
  {
    const Child child({"/bin/sh", "-c", "sleep 99 & sleep 99"});
    there = Fd();
    ASSERT_TRUE(unwind_test::wait_until_still(child.pid()));
  }
  pollfd end{.fd = here.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&end, 1, 10000), 1);
}

// A child that neither ends nor stops; its tracer waits.
TEST(Child, IsNotWaitedForForEver) {
  int status = 0;
  EXPECT_NONFATAL_FAILURE(
      {
        const Child child({"/bin/sleep", "99"}, false, std::chrono::seconds(1));
        waitpid(child.pid(), &status, 0);
      },
      "should have");
  EXPECT_TRUE(WIFSIGNALED(status));
}

// Asserts nothing: prints a figure.
TEST(Stack, CostOfAFrame) {
  Stopped stopped("stacks", "recurse");
  const Captured captured = capture(stopped.tid);
  const auto first_begin = std::chrono::steady_clock::now();
  std::size_t frames = stopped.unwinder.unwind(*stopped.space, captured.snapshot).frames.size();
  const auto begin = std::chrono::steady_clock::now();
  const std::chrono::duration<double, std::micro> first = begin - first_begin;
  frames = 0;
  for (int i = 0; i < 200; ++i)
    frames += stopped.unwinder.unwind(*stopped.space, captured.snapshot).frames.size();
  const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - begin;
  std::printf("%.0f ns a frame (first stack, reading the tables: %.0f us)\n",
              took.count() / static_cast<double>(frames), first.count());
}

}  // namespace
}  // namespace overdue
// NOLINTEND(bugprone-unchecked-optional-access)

#include "report/stalls/flame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue::flame_test {
namespace {

using testing::ElementsAre;

Finding late_fsync() {
  Finding finding;
  finding.name = "fsync";
  finding.thread = {.pid = 1, .tid = 2, .comm = "worker"};
  finding.latency_ns = 10'000;
  finding.user_stack =
      Stack{{.name = "fsync"}, {.name = "main"}, {.module = "/bin/a", .offset = 1}};
  WaitPlace place;
  place.ns = 7'000;
  place.blocked_ns = 6'000;
  place.state = "uninterruptible";
  place.kernel_stack = {{.name = "io_schedule", .is_kernel = true},
                        {.name = "ext4_sync_file", .is_kernel = true}};
  finding.places = {place};
  return finding;
}

std::string as_text(const FoldedStack& stack) {
  std::string text;
  for (const FoldedFrame& frame : stack.frames) text += frame.name + ';';
  return text + ' ' + std::to_string(stack.weight);
}

std::vector<std::string> lines_of(const Finding& finding) {
  std::vector<std::string> lines;
  for (const FoldedStack& stack : folded_stacks(finding)) lines.push_back(as_text(stack));
  return lines;
}

TEST(FlameOfFindings, PartsAddUpToTheLatency) {
  Finding finding = late_fsync();
  finding.breakdown = Breakdown({{ShareKind::oncpu, 1'500},
                                 {ShareKind::runqueue, 1'000},
                                 {ShareKind::preempted, 200},
                                 {ShareKind::throttled, 100},
                                 {ShareKind::sleeping, 50},
                                 {ShareKind::uninterruptible, 6'400},
                                 {ShareKind::irq, 500},
                                 {ShareKind::softirq, 200}},
                                50);
  EXPECT_THAT(lines_of(finding),
              ElementsAre("worker;[a+0x1];main;fsync;fsync;ext4_sync_file;io_schedule; 6000",
                          "worker;[a+0x1];main;fsync;fsync;blocked, too shortly for a stack; 450",
                          "worker;[a+0x1];main;fsync;fsync;run queue; 1000",
                          "worker;[a+0x1];main;fsync;fsync;preempted; 200",
                          "worker;[a+0x1];main;fsync;fsync;throttled; 100",
                          "worker;[a+0x1];main;fsync;fsync;on CPU; 1500",
                          "worker;[a+0x1];main;fsync;fsync;interrupts; 500",
                          "worker;[a+0x1];main;fsync;fsync;soft interrupts; 200",
                          "worker;[a+0x1];main;fsync;fsync;unknown; 50"));
  std::uint64_t sum = 0;
  for (const FoldedStack& stack : folded_stacks(finding)) sum += stack.weight;
  EXPECT_EQ(sum, finding.latency_ns);
}

TEST(FlameOfFindings, TheWakerFollowsTheWait) {
  Finding finding = late_fsync();
  Wait wait;
  wait.waker = Waker{.context = "vector local_timer",
                     .stack = {{.name = "wake", .is_kernel = true},
                               {.name = "asm_timer", .is_kernel = true},
                               {.name = "interrupted", .is_kernel = true}}};
  finding.waits = {wait};
  finding.places[0].count = 1;
  const FoldedStack joined = folded_stacks(finding, WakerFrames::joined)[0];
  EXPECT_EQ(as_text(joined),
            "worker;[a+0x1];main;fsync;fsync;ext4_sync_file;io_schedule;woken by;wake;asm_timer;"
            "vector local_timer; 6000");
  EXPECT_EQ(without_waker(joined.frames).size(), 7u);
  EXPECT_EQ(as_text(folded_stacks(finding)[0]), lines_of(late_fsync())[0]);
  finding.places[0].count = 2;  // of several waits, with perhaps several wakers
  EXPECT_EQ(as_text(folded_stacks(finding, WakerFrames::joined)[0]), lines_of(late_fsync())[0]);
}

TEST(FlameOfFindings, KindsDecideTheColours) {
  const Finding finding = late_fsync();
  const auto stacks = folded_stacks(finding);
  ASSERT_EQ(stacks.size(), 2u);  // the wait, and the rest of the latency
  const auto& frames = stacks[0].frames;
  ASSERT_EQ(frames.size(), 7u);
  EXPECT_EQ(frames[0].kind, FrameKind::thread);
  EXPECT_EQ(frames[1].kind, FrameKind::unknown);
  EXPECT_EQ(frames[2].kind, FrameKind::user);
  EXPECT_EQ(frames[4].kind, FrameKind::syscall);
  EXPECT_EQ(frames[6].kind, FrameKind::kernel);
  EXPECT_EQ(stacks[1].weight, 4'000u);
}

TEST(FlameOfFindings, WhereFunctionsMayBeMissingIsMarked) {
  Finding finding = late_fsync();
  finding.user_stack->front().follows_gap = true;
  const auto stacks = folded_stacks(finding);
  ASSERT_FALSE(stacks.empty());
  const auto& frames = stacks[0].frames;
  ASSERT_EQ(frames.size(), 8u);
  EXPECT_EQ(frames[4], (FoldedFrame{"…", FrameKind::unknown}));
}

TEST(FlameOfFindings, AThreadWithoutANameHasItsNumber) {
  Finding finding;
  finding.name = "softirq NET_RX";
  finding.thread.tid = 7;
  finding.latency_ns = 5'000;
  EXPECT_THAT(lines_of(finding), ElementsAre("thread 7;softirq NET_RX; 5000"));
}

/// A finding of thread `tid` from `begin_ns` to `end_ns`, all of this time on a CPU.
Finding ran(std::string name, std::uint64_t begin_ns, std::uint64_t end_ns, std::uint32_t tid = 2) {
  Finding finding;
  finding.name = std::move(name);
  finding.thread = {.pid = 1, .tid = tid, .comm = "worker"};
  finding.time = KernelTime(Duration(end_ns));
  finding.latency_ns = end_ns - begin_ns;
  finding.breakdown = Breakdown{{ShareKind::oncpu, finding.latency_ns}};
  return finding;
}

std::vector<std::string> drawn(const std::vector<Finding>& findings) {
  std::vector<std::string> lines;
  NestedFindings nested([&](const FoldedStack& stack) { lines.push_back(as_text(stack)); });
  for (const Finding& finding : findings) nested.add(finding);
  nested.end();
  return lines;
}

TEST(NestedFindings, TimeInAnOuterFindingIsDrawnOnce) {
  EXPECT_THAT(drawn({ran("mutex", 200, 500), ran("offcpu", 300, 900), ran("fsync", 100, 1'000),
                     ran("mutex", 1'200, 1'500)}),
              ElementsAre("worker;fsync;on CPU; 900", "worker;mutex;on CPU; 300"));
  EXPECT_THAT(drawn({ran("fsync", 100, 1'000), ran("mutex", 200, 1'000)}),
              ElementsAre("worker;fsync;on CPU; 900"));
}

TEST(NestedFindings, ALockIsTimeOfItsThreadWithoutABreakdown) {
  Finding lock = ran("rwsem write", 200, 500);
  lock.breakdown.reset();
  lock.span = "lock";
  EXPECT_THAT(drawn({lock, ran("mmap", 100, 1'000)}), ElementsAre("worker;mmap;on CPU; 900"));
}

TEST(NestedFindings, WhatOverlapsOrIsAnotherThreadsIsDrawnToo) {
  EXPECT_THAT(drawn({ran("mutex", 200, 500), ran("fsync", 300, 1'000)}),
              ElementsAre("worker;mutex;on CPU; 300", "worker;fsync;on CPU; 700"));
  EXPECT_THAT(drawn({ran("mutex", 200, 500, 3), ran("fsync", 100, 1'000)}),
              ElementsAre("worker;fsync;on CPU; 900", "worker;mutex;on CPU; 300"));
}

TEST(NestedFindings, WhatIsNoTimeOfItsThreadIsDrawnWhereverItLies) {
  Finding request = ran("write", 200, 500);
  request.breakdown.reset();
  request.span = "block";
  EXPECT_THAT(drawn({request, ran("fsync", 100, 1'000)}),
              ElementsAre("worker;write; 300", "worker;fsync;on CPU; 900"));
}

TEST(NestedFindings, ManyThatLieInNoneAreAllDrawn) {
  std::vector<Finding> findings;
  for (std::uint64_t i = 0; i < 50'000; ++i) findings.push_back(ran("read", 10 * i, 10 * i + 5));
  EXPECT_EQ(drawn(findings).size(), findings.size());
}

}  // namespace
}  // namespace overdue::flame_test

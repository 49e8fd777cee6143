#include "core/finding.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// A stack of kernel functions, innermost first.
Stack stack_of(std::initializer_list<const char*> names) {
  Stack stack;
  for (const char* name : names) stack.push_back({.name = name, .module = "[kernel]"});
  return stack;
}

TEST(TellingFunctions, AreWithoutTheEntryAndTheScheduler) {
  EXPECT_THAT(telling_functions(
                  stack_of({"__schedule", "schedule", "io_schedule", "folio_wait_bit", "do_fsync",
                            "__x64_sys_fsync", "do_syscall_64", "entry_SYSCALL_64_after_hwframe"})),
              ElementsAre("do_fsync", "folio_wait_bit"));
  EXPECT_THAT(telling_functions(stack_of({"schedule_timeout", "preempt_schedule_irq",
                                          "worker_thread", "kthread", "ret_from_fork_asm"})),
              ElementsAre("kthread", "worker_thread"));
}

TEST(TellingFunctions, AreWithoutWhatCompilersAppend) {
  EXPECT_THAT(telling_functions(stack_of({"do_poll.constprop.0", "shrink.part.12"})),
              ElementsAre("shrink", "do_poll"));
}

TEST(TellingFunctions, NameThePlaceOfWhatNobodyCanName) {
  Stack stack = stack_of({"wait"});
  stack.push_back({.address = 0x1234, .module = "[ext4]", .offset = 0x34});
  stack.push_back({.address = 0x99, .offset = 0x99});
  EXPECT_THAT(telling_functions(stack), ElementsAre("[0x99]", "[ext4+0x34]", "wait"));
}

TEST(TellingFunctions, MayBeNone) {
  EXPECT_THAT(telling_functions({}), IsEmpty());
  EXPECT_THAT(telling_functions(stack_of({"schedule", "do_syscall_64"})), IsEmpty());
}

TEST(Wait, WasBlockedUntilItWasWoken) {
  Wait wait{.ns = 100, .runqueue_ns = 30, .state = "sleeping"};
  EXPECT_EQ(wait.blocked_ns(), 70u);
  wait.state = "preempted";
  EXPECT_EQ(wait.blocked_ns(), 0u);
  wait = {.ns = 10, .runqueue_ns = 30, .state = "sleeping"};  // of a damaged record
  EXPECT_EQ(wait.blocked_ns(), 0u);
}

TEST(CountFrames, TellsTheSidesApartAndWhatHasNoName) {
  Finding finding;
  finding.user_stack = stack_of({"read", "", "main"});
  finding.kernel_stack = stack_of({"a"});
  finding.waits.push_back({.kernel_stack = stack_of({"b", ""}), .waker = Waker{}});
  finding.waits[0].waker->stack = stack_of({"", "c"});
  finding.chain.push_back({});
  finding.chain[0].kernel_stack = stack_of({"d"});
  finding.chain[0].user_stack = stack_of({"", ""});  // of another finding
  FrameCounts counts;
  count_frames(finding, counts);
  EXPECT_EQ(counts.user, 3u);
  EXPECT_EQ(counts.user_unresolved, 1u);
  EXPECT_EQ(counts.kernel, 6u);
  EXPECT_EQ(counts.kernel_unresolved, 2u);
  count_frames(Finding{}, counts);
  EXPECT_EQ(counts.user + counts.kernel, 9u);
}

}  // namespace
}  // namespace overdue

#include "report/offcpu/stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "analysis/records_fixture.h"

namespace overdue::offcpu_stacks_test {
namespace {

using testing::ElementsAre;
using testing::Field;

constexpr u64 ms = 1'000'000;

/// Names kernel addresses.
class FakeNamer final : public StackNamer {
 public:
  Stack kernel_stack(std::span<const std::uint64_t> addresses) override {
    Stack stack;
    for (const u64 address : addresses)
      stack.push_back({.name = address == 1   ? "hrtimer_nanosleep"
                               : address == 2 ? "pipe_read"
                               : address == 3 ? "hrtimer_wakeup"
                               : address == 4 ? "asm_sysvec_apic_timer_interrupt"
                               : address == 5 ? "pipe_write"
                                              : "do_syscall_64",
                       .is_kernel = true});
    return stack;
  }
  UserStack user_stack(std::uint32_t, const user_registers&, const UserCopy&, KernelTime) override {
    return {};
  }
};

/// The stacks of a session that gets records as from a kernel.
class Stacks : public testing::Test {
 protected:
  Stacks() { stacks.begin(SessionInfo{}); }

  void wait(sched_wait fixed, const std::vector<u64>& stack) {
    fixed.flags = WAIT_OF_MEMBER;
    const auto bytes = with_stack(fixed, stack);
    stacks.record({&wait_schema, bytes});
  }
  /// A wait that another thread, or the timer's interrupt, ends at `wake_ms`.
  void wait(u32 tid, u64 out_ms, u64 wake_ms, u64 in_ms, const std::vector<u64>& stack,
            u32 waker_tid, const std::vector<u64>& waker_stack) {
    sched_wake wake{};
    name_thread(wake.header, waker_tid, "thread-" + std::to_string(waker_tid));
    wake.header.time_ns = wake_ms * ms;
    wake.wakee_tid = tid;
    wake.context = waker_tid == 0 ? WAKER_VECTOR : WAKER_THREAD;
    wake.number = waker_tid == 0 ? VECTOR_LOCAL_TIMER : VECTOR_NONE;
    stacks.record({&wake_schema, with_stack(wake, waker_stack)});
    wait(wait_of(tid, out_ms * ms, wake_ms * ms, in_ms * ms, waker_tid), stack);
  }
  std::vector<OffcpuStack> rows(const std::vector<OffcpuRow>& threads = {}) {
    stacks.finish();
    stacks.add_rest(threads);
    return stacks.rows();
  }
  static OffcpuRow slept(u32 tid, u64 sleeping_ms) {
    OffcpuRow row;
    row.pid = row.tid = tid;
    row.comm = "thread-" + std::to_string(tid);
    row.sleeping_ns = sleeping_ms * ms;
    return row;
  }

  FakeNamer namer;
  OffcpuStacks stacks{namer, Duration(ms)};
};

TEST_F(Stacks, OfEqualFunctionsAndEqualWakersAreOneRow) {
  wait(7, 10, 20, 22, {1, 9}, 0, {3, 4, 9});
  wait(7, 30, 50, 51, {1, 9}, 0, {3, 4});
  const auto all = rows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].comm, "thread-7");
  EXPECT_EQ(all[0].state, "sleeping");
  EXPECT_EQ(all[0].total_ns, 30 * ms);
  EXPECT_EQ(all[0].count, 2u);
  EXPECT_EQ(all[0].max_ns, 20 * ms);
  EXPECT_THAT(all[0].frames, ElementsAre(Field(&FoldedFrame::name, "hrtimer_nanosleep"),
                                         Field(&FoldedFrame::name, "do_syscall_64")));
  EXPECT_EQ(all[0].waker, "vector local_timer");
  // The functions that the interrupt interrupted are not the waker's.
  EXPECT_THAT(all[0].waker_frames,
              ElementsAre(Field(&FoldedFrame::name, "hrtimer_wakeup"),
                          Field(&FoldedFrame::name, "asm_sysvec_apic_timer_interrupt")));
  EXPECT_EQ(all[1].state, "run queue");
  EXPECT_EQ(all[1].total_ns, 3 * ms);
  EXPECT_EQ(all[1].waker, "");
}

TEST_F(Stacks, OfDifferentWakersAreApart) {
  wait(7, 10, 20, 20, {2, 9}, 8, {5, 9});
  wait(7, 30, 35, 35, {2, 9}, 9, {5, 9});
  const auto all = rows();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].waker, "thread-8");
  EXPECT_EQ(all[0].waker_frames.size(), 2u);
  EXPECT_EQ(all[1].waker, "thread-9");
  EXPECT_EQ(all[1].total_ns, 5 * ms);
}

TEST_F(Stacks, AddUpToTheTimeOfTheThreads) {
  wait(7, 10, 20, 21, {1}, 0, {3});
  wait(wait_of(8, 10 * ms, 0, 14 * ms), {9});  // preempted
  std::uint64_t sum_ns = 0, rest_ns = 0;
  for (const OffcpuStack& row : rows({slept(7, 100), slept(8, 4), slept(9, 1)})) {
    sum_ns += row.total_ns;
    if (row.state.empty()) rest_ns += row.total_ns;
  }
  EXPECT_EQ(sum_ns, 105 * ms);
  EXPECT_EQ(rest_ns, (89 + 1) * ms);
}

TEST_F(Stacks, ShorterThanTheLimitAreInNoRow) {
  wait(wait_of(8, 10 * ms, 0, 10 * ms + ms / 2), {9});
  EXPECT_TRUE(rows().empty());
}

TEST_F(Stacks, TextHasTheWakerBelowTheWait) {
  wait(7, 10, 20, 20, {2, 9}, 8, {5, 9});
  const std::string text = stacks_text(rows({slept(7, 40)}), 0, false);
  EXPECT_EQ(text,
            " OFF CPU  SHARE  THREADS\n"
            "  30.0ms  75.0%  thread-7: waits without a stack\n"
            "  10.0ms  25.0%  thread-7, sleeping: 1 wait, longest 10.0ms\n"
            "          pipe_read\n"
            "          do_syscall_64\n"
            "        woken by thread-8\n"
            "          pipe_write\n"
            "          do_syscall_64\n");
  EXPECT_THAT(stacks_text(rows(), 1, false), testing::HasSubstr("1 more stacks; --top 0"));
}

}  // namespace
}  // namespace overdue::offcpu_stacks_test

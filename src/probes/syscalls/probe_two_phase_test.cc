// The two phases: where each call ends, and how a call without a hook at its exit is counted.
#include <sys/syscall.h>

#include <thread>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/probe_fixture.h"

namespace overdue {
namespace {

using ProbeTwoPhase = KernelTest;

SyscallsOptions two_phases() {
  SyscallsOptions options = figures(Figures::calls_and_by_thread);
  options.two_phase = true;
  return options;
}

void enter_second_phase(Measuring& measuring) {
  __atomic_store_n(&measuring.session.membership().control().phase, 2, __ATOMIC_SEQ_CST);
}

bool has_call_tracepoints() {
  return Kernel().tracepoint("syscalls", "sys_enter_getppid").yes;
}

TEST_F(ProbeTwoPhase, TheChangeOfPhasesUnderLoadLosesAndDoublesNothing) {
  if (!has_call_tracepoints()) GTEST_SKIP() << "no tracepoints of single calls";
  struct Load {
    std::atomic<bool> stop;
    std::atomic<u64> made, before;
  };
  Shared<Load> load;
  Child child([&](Child& self) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 2; ++i)
      threads.emplace_back([&] {
        while (!load->stop) {
          syscall(SYS_getppid);
          ++load->made;
        }
      });
    for (std::thread& thread : threads) thread.join();
    self.step();
  });
  SyscallsOptions options = two_phases();
  options.calls = false;
  Measuring measuring(rules_of_process(child), options);
  const auto wait_for_calls = [&] {
    usleep(50'000);
    for (const u64 before = load->made; load->made == before;) usleep(1'000);
  };
  measuring.arm();
  child.go();
  wait_for_calls();
  EXPECT_TRUE(measuring.probe->discovered()[ABI_NATIVE][SYS_getppid]);
  enter_second_phase(measuring);
  measuring.probe->attach_exit(SYS_getppid, "getppid");
  wait_for_calls();  // both kinds of hook at once
  measuring.collect();
  measuring.probe->detach_raw_exit();
  wait_for_calls();
  load->stop = true;
  child.wait_step();
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getppid), load->made);
  EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
}

TEST_F(ProbeTwoPhase, ACallBegunBeforeTheChangeIsNotEndedByAnother) {
  if (!has_call_tracepoints()) GTEST_SKIP() << "no tracepoints of single calls";
  Child child([](Child& self) {
    self.step();
    call_times(SYS_getppid, 100);
    self.step();
  });
  Measuring measuring(rules_of_process(child), two_phases(), plenty);
  measuring.arm();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));  // gets no tracepoint of its own
  enter_second_phase(measuring);
  measuring.probe->attach_exit(SYS_getppid, "getppid");
  measuring.probe->detach_raw_exit();
  usleep(20'000);
  child.run_step();
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getppid), 2 * 100u);  // in cells, and as records
  for (const syscall_call& call : seen.calls) {
    if (call.nr != SYS_getppid) continue;
    EXPECT_EQ(static_cast<pid_t>(call.ret), getpid());
  }
  EXPECT_EQ(seen.made(SYS_read), 0u) << "ended by another call, after " << seen.max_ns() << " ns";
}

TEST_F(ProbeTwoPhase, ALateCallIsCountedUntilItsExitIsAttachedThenTimed) {
  if (!has_call_tracepoints()) GTEST_SKIP() << "no tracepoints of single calls";
  Child child([](Child& self) {
    call_times(SYS_getuid, 5);
    self.step();
    call_times(SYS_getppid, 10);
    self.step();
    call_times(SYS_getppid, 3);
    call_times(SYS_getuid, 2);
    self.step();
  });
  Measuring measuring(rules_of_process(child), two_phases(), plenty);
  measuring.arm();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));  // else the read may be new to the second phase
  measuring.probe->attach_exit(SYS_getuid, "getuid");
  enter_second_phase(measuring);
  measuring.probe->detach_raw_exit();
  child.run_step();
  EXPECT_TRUE(measuring.probe->late()[ABI_NATIVE][SYS_getppid]);
  EXPECT_FALSE(measuring.probe->late()[ABI_NATIVE][SYS_getuid]);
  measuring.probe->attach_exit(SYS_getppid, "getppid");
  child.run_step();
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getuid), 2 * 7u);
  u64 timed = 0, untimed = 0;
  for (const syscall_cell& cell : seen.cells) {
    EXPECT_EQ(cell.late != 0, cell.nr == SYS_getppid) << cell.nr;
    if (cell.nr != SYS_getppid) continue;
    timed += cell.latency.count;
    untimed += cell.untimed;
  }
  EXPECT_EQ(timed, 3u);
  EXPECT_EQ(untimed, 10u);
  for (const syscall_call& call : seen.calls) {
    if (call.nr != SYS_getppid) continue;
    EXPECT_TRUE(call.flags & SYSCALL_LATE);
    timed += !(call.flags & SYSCALL_UNTIMED);
    untimed += (call.flags & SYSCALL_UNTIMED) != 0;
  }
  EXPECT_EQ(timed, 2 * 3u);  // in cells, and as records
  EXPECT_EQ(untimed, 2 * 10u);
}

/// Calls before and after the change of phases, when only getuid is known.
struct AfterTheChange {
  Child child;
  Measuring measuring;

  explicit AfterTheChange(const std::function<void()>& work)
      : child([&work](Child& self) {
          call_times(SYS_getuid, 5);
          work();
          self.step();
          work();
          self.step();
        }),
        measuring(rules_of_process(child), two_phases(), plenty) {
    measuring.arm();
    child.run_step();
    EXPECT_TRUE(child.wait_until_in(SYS_read));  // else the read may be new to the second phase
    measuring.probe->attach_exit(SYS_getuid, "getuid");
    enter_second_phase(measuring);
    measuring.probe->detach_raw_exit();
    child.run_step();
    measuring.finish();
  }

  /// Expects all calls of the number in the second phase to be counted, not timed, and none to be
  /// late.
  void expect_untimed(u32 nr, u64 before, u64 after) const {
    u64 timed = 0, untimed = 0, unreturned = 0;
    for (const syscall_cell& cell : measuring.seen.cells) {
      if (cell.nr != nr) continue;
      EXPECT_FALSE(cell.late);
      timed += cell.latency.count;
      untimed += cell.untimed;
      unreturned += cell.unreturned;
    }
    EXPECT_EQ(timed, before);
    EXPECT_EQ(untimed, after);
    for (const syscall_call& call : measuring.seen.calls) {
      if (call.nr != nr) continue;
      EXPECT_FALSE(call.flags & SYSCALL_LATE);
      untimed += (call.flags & SYSCALL_UNTIMED) != 0;
      unreturned += (call.flags & SYSCALL_UNRETURNED) != 0;
    }
    EXPECT_EQ(untimed, 2 * after);  // in cells, and as records
    EXPECT_EQ(unreturned, 0u);
  }
};

TEST_F(ProbeTwoPhase, NumbersBeyondTheSetsAreUntimedAndNeverLate) {
  if (!has_call_tracepoints()) GTEST_SKIP() << "no tracepoints of single calls";
  constexpr u32 unknown_nr = 9'999;
  const AfterTheChange run([] { call_times(unknown_nr, 3); });
  run.expect_untimed(unknown_nr, 3, 3);
}

TEST_F(ProbeTwoPhase, ReturnsFromSignalsAreUntimedAndSaidToHaveReturned) {
  if (!has_call_tracepoints()) GTEST_SKIP() << "no tracepoints of single calls";
  const AfterTheChange run([] {
    std::signal(SIGUSR1, [](int) {});
    for (int i = 0; i < 4; ++i) raise(SIGUSR1);
  });
  run.expect_untimed(SYS_rt_sigreturn, 4, 4);
}

}  // namespace
}  // namespace overdue

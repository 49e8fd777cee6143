// Which threads are measured, from when to when, and that measuring leaves nothing behind.
#include <linux/sched.h>
#include <sys/syscall.h>

#include <cstdlib>
#include <thread>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/probe_fixture.h"

namespace overdue {
namespace {

using ProbeLifecycle = KernelTest;

constexpr char exec_variable[] = "OVERDUE_TEST_CALLS_AFTER_EXEC";
constexpr int calls_after_exec = 123;

// What this program does if one of its tests calls execve(2): before main(), so that it is quick.
const bool is_execed = [] {
  if (!std::getenv(exec_variable)) return false;
  call_times(SYS_getppid, calls_after_exec);
  _exit(0);
}();

void exec_ourselves() {
  std::string variable = std::string(exec_variable) + "=1";
  std::string program = "/proc/self/exe";
  char* argv[] = {program.data(), nullptr};
  char* environment[] = {variable.data(), nullptr};
  execve(program.c_str(), argv, environment);
  _exit(9);
}

TEST_F(ProbeLifecycle, AnExecInASecondThreadGoesOnBeingMeasured) {
  for (const SyscallsOptions& options : every_way()) {
    Child child([](Child&) {
      call_times(SYS_getppid, 10);
      std::thread([] {
        call_times(SYS_getppid, 100);
        exec_ourselves();
      }).join();
    });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(SYS_getppid), 110u + calls_after_exec);
    EXPECT_EQ(seen.made(SYS_execve), 1u);
    EXPECT_EQ(seen.unreturned(SYS_execve), 0u);
    EXPECT_EQ(seen.unreturned(SYS_exit_group), 1u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
    if (options.by_thread || options.calls) {  // the second thread has taken the first one's id
      EXPECT_EQ(seen.made(SYS_getppid, ABI_NATIVE, child.pid()), 10u + calls_after_exec);
    }
  }
}

TEST_F(ProbeLifecycle, AThreadThatEndsInsideACallIsCountedAsUnreturned) {
  for (const SyscallsOptions& options : every_way()) {
    Child ends([](Child&) { syscall(SYS_exit_group, 0); });
    Child killed([](Child&) {
      const timespec long_time{1'000, 0};
      syscall(SYS_nanosleep, &long_time, nullptr);
    });
    MembershipRules rules;
    rules.pids = {ends.pid(), killed.pid()};
    Measuring measuring(rules, options, ring_for(options));
    measuring.arm();
    ends.go();
    EXPECT_EQ(ends.end(), 0);
    killed.go();
    ASSERT_TRUE(killed.wait_until_in(SYS_nanosleep));
    kill(static_cast<pid_t>(killed.pid()), SIGKILL);
    killed.end();
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.unreturned(SYS_exit_group), 1u);
    EXPECT_EQ(seen.made(SYS_exit_group), 1u);
    // A killed thread leaves its call like any interrupted one, before it ends: the call is timed.
    EXPECT_EQ(seen.made(SYS_nanosleep), 1u);
    EXPECT_EQ(seen.unreturned(SYS_nanosleep), 0u);
    EXPECT_TRUE(seen.opens.empty());
  }
}

TEST_F(ProbeLifecycle, ACallOpenAtTheEndIsReportedWithItsAge) {
  Child child([](Child& self) { self.step(); }, "sleeper");
  Measuring measuring(rules_of_process(child), figures(Figures::by_thread));
  measuring.arm();
  const KernelTime begin = KernelClock::now();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  const KernelTime inside = KernelClock::now();
  usleep(20'000);
  const KernelTime end = KernelClock::now();
  const Seen& seen = measuring.finish();
  ASSERT_EQ(seen.opens.size(), 1u);
  const syscall_open& open = seen.opens[0];
  EXPECT_EQ(open.nr, SYS_read);
  EXPECT_EQ(open.abi, ABI_NATIVE);
  EXPECT_FALSE(open.flags & SYSCALL_OLDER);
  EXPECT_EQ(open.header.tid, child.pid());
  EXPECT_EQ(open.header.pid, child.pid());
  EXPECT_STREQ(open.header.comm, "sleeper");
  EXPECT_GE(open.age_ns, (end - inside).count());
  EXPECT_LE(open.age_ns, (KernelClock::now() - begin).count());
  EXPECT_EQ(seen.made(SYS_read), 0u);  // the first read was cut, the second is open
  EXPECT_EQ(seen.made(SYS_write), 1u);
  EXPECT_EQ(measuring.session.receipt().cut, 1u);
}

TEST_F(ProbeLifecycle, ACallThatBeganBeforeTheStartIsShownAsOlderOrCountedAsCut) {
  Child child([](Child& self) { self.step(); });
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  for (const SyscallsOptions& options : every_way()) {
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    const KernelTime begin = KernelClock::now();
    measuring.arm();
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.all(), 0u);
    ASSERT_EQ(seen.opens.size(), 1u);
    EXPECT_EQ(seen.opens[0].nr, SYS_read);
    EXPECT_EQ(seen.opens[0].abi, ABI_NATIVE);
    EXPECT_TRUE(seen.opens[0].flags & SYSCALL_OLDER);
    EXPECT_LE(seen.opens[0].age_ns, (KernelClock::now() - begin).count());
    EXPECT_EQ(measuring.session.receipt().cut, 0u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
  }
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  EXPECT_EQ(measuring.finish().made(SYS_read), 0u);
  EXPECT_EQ(measuring.session.receipt().cut, 1u);
  EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
}

TEST_F(ProbeLifecycle, NothingIsMeasuredBeforeArming) {
  Child child([](Child& self) {
    call_times(SYS_getppid, 50);
    self.step();
    call_times(SYS_getppid, 3);
    self.step();
  });
  Measuring measuring(rules_of_process(child));
  measuring.session.membership().adopt_existing();
  child.run_step();
  measuring.arm();
  EXPECT_LE(measuring.session.start(), KernelClock::now());
  child.run_step();
  EXPECT_EQ(measuring.finish().made(SYS_getppid), 3u);
}

TEST_F(ProbeLifecycle, ABystanderIsNotSeen) {
  for (const SyscallsOptions& options : every_way()) {
    Child measured([](Child&) { call_times(SYS_getppid, 10); });
    Child bystander([](Child&) {
      call_times(SYS_getppid, 1'000);
      std::thread([] { call_times(SYS_getppid, 1'000); }).join();
    });
    Measuring measuring(rules_of_process(measured), options, ring_for(options));
    measuring.arm();
    bystander.go();
    measured.go();
    EXPECT_EQ(bystander.end(), 0);
    EXPECT_EQ(measured.end(), 0);
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.made(SYS_getppid), 10u);
    EXPECT_FALSE(seen.knows_pid(bystander.pid()));
  }
}

TEST_F(ProbeLifecycle, WeNeverMeasureOurselves) {
  Child child([](Child&) { call_times(SYS_getppid, 10); });
  MembershipRules everything;
  everything.all = true;
  everything.pids = {static_cast<u32>(getpid())};
  everything.tids = {static_cast<u32>(getpid())};
  Measuring measuring(everything, figures(Figures::by_thread, only_these({SYS_getppid})));
  measuring.session.calibrate(time_getppid());
  measuring.arm();
  call_times(SYS_getppid, 1'000);
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();
  EXPECT_FALSE(seen.knows_pid(static_cast<u32>(getpid())));
  EXPECT_EQ(seen.made(SYS_getppid, ABI_NATIVE, child.pid()), 10u);
}

TEST_F(ProbeLifecycle, CalibrationLeavesNoTrace) {
  std::vector<SyscallsOptions> ways = every_way();
  ways.push_back(figures(Figures::by_cpu, only_these({SYS_openat})));
  ways.push_back(figures(Figures::discovery));
  ways.push_back(figures(Figures::calls_and_by_thread));
  for (const SyscallsOptions& options : ways) {
    Child child([](Child& self) { self.step(); });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.session.calibrate(time_getppid());
    call_times(SYS_getppid, 100);  // this process is a bystander again
    EXPECT_EQ(measuring.probe->discovered(), SyscallSet{});
    EXPECT_TRUE(measuring.session.membership().members().empty());
    const Receipt receipt = measuring.session.receipt();
    EXPECT_EQ(receipt.lost() + receipt.cut + receipt.unmatched, 0u);
    EXPECT_EQ(receipt.target_cpu_ns, 0u);
    for (const auto& [counter, value] : measuring.session.membership().counters())
      EXPECT_EQ(value, 0u) << "counter " << counter;
    for (const auto& [counter, value] : measuring.probe->counters()) {
      if (counter >= COUNTER_RUNS) continue;  // all runs ever: the receipt has the later ones
      EXPECT_EQ(value, 0u) << "counter " << counter;
    }
    const Seen& seen = measuring.finish();
    EXPECT_EQ(seen.all(), 0u);
    EXPECT_TRUE(seen.cells.empty() && seen.opens.empty());
  }
}

TEST_F(ProbeLifecycle, TheCostOfACallIsWhatTheMembersTookLongerThanTheBase) {
  Child child([](Child&) {});
  Measuring measuring(rules_of_process(child));
  const Calibration cost = measuring.session.calibrate({30, 10, 20});
  EXPECT_EQ(cost.base_ns, 20);
  EXPECT_EQ(cost.spread, (20. - 10) / 20);
  EXPECT_EQ(cost.rounds, time_getppid().size());
  EXPECT_GT(cost.bystander_ns, 0);
  EXPECT_GT(cost.traced_ns, 20);  // no system call is that fast
  EXPECT_EQ(cost.cost_ns(), cost.traced_ns - 20);
  const Calibration slow = measuring.session.calibrate({1e12});
  EXPECT_EQ(slow.base_ns, 1e12);
  EXPECT_EQ(slow.cost_ns(), 0) << "noise must not make a cost of less than nothing";
}

TEST_F(ProbeLifecycle, DiscoveryNotesWhatIsCalledAndMeasuresNothing) {
  Child child([](Child& self) {
    call_times(SYS_getppid, 3);
    call_times(9'999, 4);
    self.step();
  });
  Measuring measuring(rules_of_process(child), figures(Figures::discovery));
  measuring.arm();
  child.run_step();
  const SyscallSet discovered = measuring.probe->discovered();
  EXPECT_TRUE(discovered[ABI_NATIVE][SYS_getppid]);
  EXPECT_FALSE(discovered[ABI_NATIVE][SYS_getuid]);
  EXPECT_EQ(measuring.finish().all(), 0u);
  EXPECT_EQ(measuring.probe->counters()[COUNTER_BEYOND_SETS], 4u);  // not discovered, but counted
}

TEST_F(ProbeLifecycle, AThreadInNoCallHasNoOpenCall) {
  Shared<std::atomic<bool>> spins;
  Child child([&](Child&) {
    *spins = true;
    while (true) continue;
  });
  child.go();
  while (!*spins) usleep(1'000);
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  EXPECT_TRUE(measuring.finish().opens.empty());
  EXPECT_EQ(measuring.session.receipt().cut, 0u);
}

/// A process that calls `nr` and ends; `wanted_pid` is its id, if not 0. Returns the id.
pid_t process_that_calls(long nr, int times, pid_t wanted_pid) {
  clone_args arguments{};
  arguments.exit_signal = SIGCHLD;
  arguments.set_tid = wanted_pid != 0 ? reinterpret_cast<u64>(&wanted_pid) : 0;
  arguments.set_tid_size = wanted_pid != 0;
  const auto pid = static_cast<pid_t>(syscall(SYS_clone3, &arguments, sizeof arguments));
  if (pid == 0) {
    call_times(nr, times);
    _exit(0);
  }
  waitpid(pid, nullptr, 0);
  return pid;
}

TEST_F(ProbeLifecycle, AThreadIdThatComesAgainIsAnotherThread) {
  constexpr u32 unknown_nr = 9'999;  // a cell of such a number is found by a key
  Child child([](Child&) {
    const pid_t pid = process_that_calls(unknown_nr, 2, 0);
    if (process_that_calls(unknown_nr, 3, pid) != pid) _exit(8);
  });
  Measuring measuring(rules_of_process(child), figures(Figures::by_thread));
  measuring.arm();
  child.go();
  const int status = child.end();
  if (WEXITSTATUS(status) == 8) GTEST_SKIP() << "cannot choose a process id";
  std::vector<u64> made;
  for (const syscall_cell& cell : measuring.finish().cells)
    if (cell.nr == unknown_nr) made.push_back(cell.latency.count);
  EXPECT_EQ(made, (std::vector<u64>{2, 3}));
}

TEST_F(ProbeLifecycle, NothingIsLeftInTheKernel) {
  const std::size_t before = own_bpf_objects().size();
  Child child([](Child&) { call_times(SYS_getppid, 100); });
  BpfObjects during;
  {
    Measuring measuring(rules_of_process(child), figures(Figures::calls_and_by_thread), 1 << 20);
    measuring.arm();
    during = own_bpf_objects();
    child.go();
    child.end();
    measuring.finish();
  }
  EXPECT_GE(during.programs.size(), 8u);
  EXPECT_GE(during.maps.size(), 8u);
  EXPECT_GE(during.links.size(), 5u);
  EXPECT_EQ(own_bpf_objects().size(), before);
  EXPECT_EQ(still_held(during), 0u);
}

TEST_F(ProbeLifecycle, ASessionThatFailsToLoadLeavesNothing) {
  const std::size_t before = own_bpf_objects().size();
  MembershipRules rules;
  for (u32 id = 1; id <= TARGET_IDS_MAX + 1; ++id) rules.pids.push_back(id);
  EXPECT_THROW(Membership(rules, 0), Error);
  EXPECT_EQ(own_bpf_objects().size(), before);
}

}  // namespace
}  // namespace overdue

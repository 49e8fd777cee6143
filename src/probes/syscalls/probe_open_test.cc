// Calls that are open when a session ends, and the labels that calls are counted under.
#include <linux/io_uring.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <algorithm>
#include <map>
#include <thread>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/probe_fixture.h"
#include "probes/syscalls/sleepers_fixture.h"
#include "target/cgroups.h"

namespace overdue {
namespace {

using ProbeOpen = KernelTest;

TEST_F(ProbeOpen, ACallIsListedAsOpenOrAsEndedButNotAsBoth) {
  Shared<Sleepers> sleepers;
  Child child([&](Child&) { sleepers->sleep(50'000'000); });
  child.go();
  sleepers->wait();
  std::size_t listed = 0;
  for (int session = 0; session < 8; ++session) {
    Measuring measuring(rules_of_process(child), figures(Figures::calls), plenty);
    measuring.arm();
    usleep(60'000);
    const Seen& seen = measuring.finish();
    listed += sleepers->expect_open(seen.opens, seen.calls, measuring.session.start());
  }
  EXPECT_GT(listed, 0u);
}

TEST_F(ProbeOpen, AThreadThatHasEndedIsInNoCall) {
  Shared<std::atomic<bool>> spins;
  Child child([&](Child&) {
    *spins = true;
    while (true) continue;
  });
  child.go();
  while (!*spins) usleep(1'000);
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  kill(static_cast<pid_t>(child.pid()), SIGKILL);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, child.pid(), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(measuring.finish().opens.empty());
}

/// Makes the kernel read from an empty pipe in a thread of its own. False if the kernel refuses.
bool start_kernel_worker() {
  io_uring_params parameters{};
  const Fd ring(static_cast<int>(syscall(SYS_io_uring_setup, 4, &parameters)));
  if (!ring) return false;
  const auto map = [&](std::size_t bytes, off_t offset) {
    return static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring.get(), offset));
  };
  const io_sqring_offsets& offsets = parameters.sq_off;
  std::byte* const queue =
      map(offsets.array + parameters.sq_entries * sizeof(u32), IORING_OFF_SQ_RING);
  std::byte* const entries = map(parameters.sq_entries * sizeof(io_uring_sqe), IORING_OFF_SQES);
  int ends[2];
  static char byte;
  if (queue == MAP_FAILED || entries == MAP_FAILED || pipe(ends) != 0) return false;
  auto* const entry = reinterpret_cast<io_uring_sqe*>(entries);
  entry->opcode = IORING_OP_READ;
  entry->flags = IOSQE_ASYNC;
  entry->fd = ends[0];
  entry->addr = reinterpret_cast<u64>(&byte);
  entry->len = 1;
  *reinterpret_cast<u32*>(queue + offsets.array) = 0;
  __atomic_store_n(reinterpret_cast<u32*>(queue + offsets.tail), 1, __ATOMIC_RELEASE);
  if (syscall(SYS_io_uring_enter, ring.get(), 1, 0, 0, nullptr, 0) != 1) return false;
  static Fd stays_open;
  stays_open = Fd(dup(ring.get()));
  return true;
}

std::ptrdiff_t count_threads(u32 pid) {
  const std::filesystem::directory_iterator tasks(fmt::format("/proc/{}/task", pid));
  return std::distance(begin(tasks), end(tasks));
}

TEST_F(ProbeOpen, AWorkerOfTheKernelIsInNoCall) {
  Shared<std::atomic<bool>> has_worker;
  Child child([&](Child& self) {
    *has_worker = start_kernel_worker();
    self.step();
  });
  child.run_step();
  if (!*has_worker) GTEST_SKIP() << "no io_uring here";
  for (int tries = 0; tries < 1'000 && count_threads(child.pid()) < 2; ++tries) usleep(1'000);
  if (count_threads(child.pid()) < 2) GTEST_SKIP() << "io_uring starts no thread here";
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  const Seen& seen = measuring.finish();
  ASSERT_EQ(seen.opens.size(), 1u);
  EXPECT_EQ(seen.opens[0].header.tid, child.pid());
}

TEST_F(ProbeOpen, AnOlderCallOfX32HasItsNumberAndAbi) {
  constexpr u32 getpid_of_x32 = 0x40000000 | 39;
  Child child([](Child&) { syscall(getpid_of_x32); });
  const auto pid = static_cast<pid_t>(child.pid());
  ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, nullptr), 0);
  ASSERT_EQ(ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr), 0);
  child.go();
  user_regs_struct registers{};
  while (registers.orig_rax !=
         getpid_of_x32) {  // stays where a tracer may look at it: at its entry
    int status = 0;
    ASSERT_EQ(waitpid(pid, &status, 0), pid);
    ASSERT_TRUE(WIFSTOPPED(status));
    ASSERT_EQ(ptrace(PTRACE_GETREGS, pid, nullptr, &registers), 0);
    if (registers.orig_rax != getpid_of_x32) {
      ASSERT_EQ(ptrace(PTRACE_SYSCALL, pid, nullptr, nullptr), 0);
    }
  }
  SyscallsOptions options = figures(Figures::by_cpu, SyscallSet{});
  (*options.only)[ABI_X32][39] = true;
  Measuring measuring(rules_of_process(child), options);
  measuring.arm();
  const Seen& seen = measuring.finish();
  ASSERT_EQ(seen.opens.size(), 1u);
  EXPECT_EQ(seen.opens[0].nr, 39u);
  EXPECT_EQ(seen.opens[0].abi, ABI_X32);
  EXPECT_TRUE(seen.opens[0].flags & SYSCALL_OLDER);
}

std::optional<CgroupHierarchy> writable_hierarchy() {
  const Cgroups cgroups;
  for (const CgroupHierarchy& hierarchy : cgroups.hierarchies())
    if (hierarchy.v2 && access(hierarchy.mount_point.c_str(), W_OK) == 0) return hierarchy;
  return std::nullopt;
}

TEST_F(ProbeOpen, AMovedThreadsCallsGoToItsNewCgroup) {
  const auto v2 = writable_hierarchy();
  if (!v2) GTEST_SKIP() << "no cgroup v2 hierarchy that can be written to";
  const TestCgroup cgroup(v2->mount_point / fmt::format("overdue-test-{}", getpid()));
  const u64 id = Cgroups().find(cgroup.directory().string()).id;
  constexpr u32 unknown_nr = 9'999;
  Shared<std::atomic<u32>> second;
  Child child([&](Child& self) {
    std::thread([&] {
      *second = this_tid();
      for (int i = 0; i < 3; ++i) {
        call_times(SYS_getppid, 3);
        call_times(unknown_nr, 2);
        self.step();
      }
    }).join();
  });
  MembershipRules rules = rules_of_process(child);
  rules.cgroup_hierarchy = v2->id;
  Measuring measuring(rules, figures(Figures::by_thread));
  measuring.arm();
  child.run_step();
  cgroup.add(child.pid());
  measuring.poll();  // the thread is not the one that the kernel reports
  child.run_step();
  std::map<std::pair<u64, u32>, u64> made;
  for (const syscall_cell& cell : measuring.finish().cells)
    if (cell.header.tid == *second) made[{cell.header.cgroup_id, cell.nr}] += cell.latency.count;
  EXPECT_EQ((made[{id, SYS_getppid}]), 3u);
  EXPECT_EQ((made[{id, unknown_nr}]), 2u);
}

TEST_F(ProbeOpen, AProcessThatLeavesTheCgroupIsMeasuredNoMore) {
  const auto v2 = writable_hierarchy();
  if (!v2) GTEST_SKIP() << "no cgroup v2 hierarchy that can be written to";
  const TestCgroup inside(v2->mount_point / fmt::format("overdue-test-{}", getpid()));
  const TestCgroup outside(v2->mount_point / fmt::format("overdue-test-{}-b", getpid()));
  for (const SyscallsOptions& options : every_way()) {
    Child child([&](Child& self) {
      for (const int times : {3, 100, 5}) {
        call_times(SYS_getppid, times);
        self.step();
      }
    });
    inside.add(child.pid());
    MembershipRules rules;
    rules.cgroup_hierarchy = v2->id;
    rules.cgroup_ids = {Cgroups().find(inside.directory().string()).id};
    Measuring measuring(rules, options, ring_for(options));
    measuring.arm();
    child.run_step();
    ASSERT_TRUE(child.wait_until_in(SYS_read));
    outside.add(child.pid());
    child.run_step();
    ASSERT_TRUE(child.wait_until_in(SYS_read));
    inside.add(child.pid());
    child.run_step();
    EXPECT_EQ(measuring.finish().made(SYS_getppid), 3u + 5u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
    // The steps in which the process came, left, and came again.
    EXPECT_EQ(measuring.session.receipt().cut, 3u);
  }
}

/// Counts the calls of calibration, which are not delivered otherwise.
class Watched final : public LiveProbe {
 public:
  Watched(const SyscallsOptions& options, const SharedMaps& shared) : probe_(options, shared) {}
  void drain_cells(u32 epoch, KernelTime now, const RecordHandler& handler) override {
    probe_.drain_cells(epoch, now, [&](const Record& record) {
      calls += record.as<syscall_cell>().latency.count;
      handler(record);
    });
  }
  double fill(u32 epoch) const override { return probe_.fill(epoch); }
  void finish(KernelTime end, const RecordHandler& handler) override {
    probe_.finish(end, handler);
  }
  const Schema* schema(u16 kind) const override { return probe_.schema(kind); }
  Counters counters() const override { return probe_.counters(); }
  void begin_calibration() override { probe_.begin_calibration(); }
  void end_calibration() override { probe_.end_calibration(); }

  u64 calls = 0;

 private:
  SyscallsProbe probe_;
};

TEST_F(ProbeOpen, CalibrationRunsOnACpuThatIsMeasured) {
  if (!OnCpu(0).could() || !OnCpu(1).could()) GTEST_SKIP() << "needs CPUs 0 and 1";
  SyscallsOptions options;
  options.cpus = {1};
  Session session({}, 0);
  auto probe = std::make_unique<Watched>(options, session.membership().maps());
  const Watched& watched = *probe;
  session.add(std::move(probe));
  const OnCpu here(0);
  session.calibrate(time_getppid(options.cpus), options.cpus);
  EXPECT_EQ(sched_getcpu(), 0);
  EXPECT_GE(watched.calls, 1'000u);
}

}  // namespace
}  // namespace overdue

// Where ledgers are kept: slots by address, task storage on a collision.
#include <bpf/bpf.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ranges>
#include <span>
#include <string>
#include <vector>

#include "bpf/thread_ledger.h"
#include "kernel/mapped.h"
#include "probes/sched/probe_fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

class Ledgers : public KernelTest {};

static_assert(offsetof(ledger_slot, ledger.call.who) + sizeof(open_call::who) <= 64,
              "a waker takes one cache line of the woken's from another CPU");

/// The slots themselves, as programs read and write them.
class Slots {
 public:
  explicit Slots(const SchedProbe& sched) : Slots(sched.maps().ledger_slots) {}

  std::span<ledger_slot> all() const { return {mapped_.as<ledger_slot>(), count_}; }
  /// The ledger of a member that runs and has begun a call, or null.
  thread_ledger* of_member(std::uint32_t tid) const {
    const auto found = std::ranges::find_if(all(), [tid](const ledger_slot& slot) {
      return static_cast<u32>(slot.ledger.member) == tid;
    });
    return found == all().end() ? nullptr : &found->ledger;
  }
  std::ptrdiff_t taken() const {
    return std::ranges::count_if(all(), [](const ledger_slot& slot) { return slot.owner != 0; });
  }

 private:
  explicit Slots(int map) {
    bpf_map_info info{};
    u32 size = sizeof info;
    if (bpf_obj_get_info_by_fd(map, &info, &size) != 0) throw Error("cannot ask for the slots");
    count_ = info.max_entries;
    mapped_ = Mapped(map, count_ * sizeof(ledger_slot), PROT_READ | PROT_WRITE, 0, "the slots");
  }

  std::size_t count_ = 0;
  Mapped mapped_;
};

TEST_F(Ledgers, OfThreadsThatFindTheirSlotTakenAreAsGood) {
  constexpr u64 sleep_ns = 20'000'000;
  Child child([](Child&) {
    if (const pid_t grandchild = fork(); grandchild != 0) {  // starts now: its slot is taken
      int status = 0;
      _exit(waitpid(grandchild, &status, 0) == grandchild ? status : 9);
    }
    const timespec time{0, sleep_ns};
    _exit(syscall(SYS_nanosleep, &time, nullptr) == 0 ? 0 : 8);
  });
  Explaining measuring({child.pid()}, 5ms);
  const Slots slots(*measuring.sched);
  for (ledger_slot& slot : slots.all())
    if (slot.owner == 0) slot.owner = SLOT_IS_BEGUN;
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  const auto span = std::ranges::find_if(
      seen.spans, [](const SeenSpan& one) { return one.fixed.subject == SYS_nanosleep; });
  ASSERT_NE(span, seen.spans.end());
  EXPECT_NE(span->fixed.header.pid, static_cast<u32>(child.pid()));
  const ledger_parts& parts = span->fixed.ledger;
  EXPECT_GE(parts.sleeping_ns, sleep_ns / 100 * 95);
  EXPECT_GE(sum_of(parts), span->fixed.latency_ns / 100 * 98);
  EXPECT_LE(sum_of(parts), span->fixed.latency_ns);
}

TEST_F(Ledgers, GiveTheirSlotsBackWhenTheirThreadsAreFreed) {
  constexpr int processes = 500;
  Child child([](Child&) {});
  const Explaining measuring({child.pid()}, 1h);
  const Slots slots(*measuring.sched);
  const auto before = slots.taken();
  EXPECT_GT(before, 0);
  for (int n = 0; n < processes; ++n) {
    const pid_t pid = fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) _exit(0);
    ASSERT_EQ(waitpid(pid, nullptr, 0), pid);
  }
  // Other programs begin and end processes too, and a kernel that hides some events hides ends.
  for (int tries = 0; tries < 100 && slots.taken() > before + processes / 4; ++tries)
    usleep(100'000);
  EXPECT_LE(slots.taken(), before + processes / 4);
}

/// Acts as if no CPU had reported a tick or a switch for `time`.
void forget_ticks(const SchedProbe& sched, Duration time) {
  const int map = sched.maps().cpu_ledgers;
  const u32 zero = 0;
  std::vector<cpu_ledger> of_cpus(possible_cpu_count());
  ASSERT_EQ(bpf_map_lookup_elem(map, &zero, of_cpus.data()), 0);
  for (cpu_ledger& cpu : of_cpus)
    cpu.looked_ns = KernelClock::now_ns() - static_cast<u64>(time.count());
  ASSERT_EQ(bpf_map_update_elem(map, &zero, of_cpus.data(), BPF_ANY), 0);
}

class Ticks : public Ledgers {
 protected:
  Ticks() : child_([](Child&) {}), measuring_({child_.pid()}, 1h) {
    quiet_ = measuring_.sched->quiet_time();
    measuring_.session.arm();
    control().quiet_from_ns = KernelClock::now_ns() - 1'000'000'000;
  }
  session_control& control() { return measuring_.session.membership().control(); }
  /// Whether ticks are still relied on after no tick was reported for long and this thread, on its
  /// CPU for `time`, leaves the CPU.
  bool are_relied_on(Duration time) {
    control().quiet_ns = static_cast<u64>(quiet_.count());
    usleep(1'000);
    for (const u64 begin_ns = KernelClock::now_ns();
         KernelClock::now_ns() < begin_ns + static_cast<u64>(time.count());) {
    }
    forget_ticks(*measuring_.sched, 500ms);
    usleep(1'000);
    return control().quiet_ns != 0;
  }

  Child child_;
  Explaining measuring_;
  Duration quiet_;
};

TEST_F(Ticks, AreReliedOnThoughAnIdleCpuHasNone) {
  if (quiet_ == Duration(0)) GTEST_SKIP() << "this kernel does not tell of ticks";
  int relied_on = 0;  // fewer if a hypervisor has the CPU meanwhile
  for (int n = 0; n < 20; ++n) relied_on += are_relied_on(Duration(0)) ? 1 : 0;
  EXPECT_GE(relied_on, 15);
}

/// A real-time thread keeps its CPU however busy the machine is.
class RealTime {
 public:
  RealTime() {
    const sched_param urgent{.sched_priority = 10};
    EXPECT_EQ(sched_setscheduler(0, SCHED_FIFO, &urgent), 0);
  }
  ~RealTime() {
    const sched_param ordinary{};
    sched_setscheduler(0, SCHED_OTHER, &ordinary);
  }
  RealTime(const RealTime&) = delete;
  RealTime& operator=(const RealTime&) = delete;
};

TEST_F(Ticks, AreNotReliedOnWhereAThreadRunsForLongWithoutOne) {
  if (quiet_ == Duration(0)) GTEST_SKIP() << "this kernel does not tell of ticks";
  const RealTime thread;
  int relied_on = 0;  // rounds in which a higher-priority thread or a tick came in between
  while (relied_on < 50 && are_relied_on(2 * quiet_)) ++relied_on;
  EXPECT_LT(relied_on, 50);
}

/// As if the thread had slept, and the kernel had hidden its switch in.
void let_come_unseen(thread_ledger& ledger) {
  ledger.since_ns -= 20'000'000;
  ledger.wake_ns = 0;
  ledger.state = LEDGER_SLEEPING;
}

/// A wait before the call is not part of the call.
TEST_F(Ledgers, OfAThreadThatCameUnseenTellItsOwnPartsOnly) {
  using Bytes = std::array<u64, (1 << 20) / sizeof(u64)>;  // 1 or 2 ms, without a switch
  struct Steps {
    std::atomic<bool> runs = false, begins = false;
  };
  const Shared<Bytes> bytes;
  const Shared<Steps> steps;
  Child child([&](Child&) {
    call_times(SYS_getppid, 1);
    steps->runs = true;
    while (!steps->begins) {
    }
    syscall(SYS_getrandom, bytes->data(), sizeof(Bytes), 0);
  });
  Explaining measuring({child.pid()}, 100us);
  measuring.session.arm();
  child.go();
  while (!steps->runs) usleep(1'000);
  const Slots slots(*measuring.sched);
  thread_ledger* ledger = slots.of_member(child.pid());
  if (!ledger) GTEST_SKIP() << "its slot was taken";
  let_come_unseen(*ledger);
  steps->begins = true;
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  const auto span = std::ranges::find_if(
      seen.spans, [](const SeenSpan& one) { return one.fixed.subject == SYS_getrandom; });
  ASSERT_NE(span, seen.spans.end());
  const ledger_parts& parts = span->fixed.ledger;
  EXPECT_LE(sum_of(parts), span->fixed.latency_ns);
  EXPECT_GE(sum_of(parts), span->fixed.latency_ns / 100 * 98);
  EXPECT_EQ(parts.sleeping_ns, 0u);
}

TEST_F(Ledgers, OfAThreadThatCameUnseenSayThatItsOpenCallRuns) {
  using Bytes = std::array<u64, (16 << 20) / sizeof(u64)>;  // about ten milliseconds
  if (!OnCpu(0).could() || !OnCpu(1).could()) GTEST_SKIP() << "needs CPUs 0 and 1";
  const Shared<Bytes> bytes;
  const Shared<std::atomic<bool>> over;
  const OnCpu watcher(0);  // else the watcher may preempt the watched thread at each look
  Child child([&](Child&) {
    if (!run_on_cpu(1)) _exit(1);
    while (!*over) syscall(SYS_getrandom, bytes->data(), sizeof(Bytes), 0);
  });
  Explaining measuring({child.pid()}, 1h);
  measuring.session.arm();
  child.go();
  usleep(100'000);
  const Slots slots(*measuring.sched);
  thread_ledger* ledger = slots.of_member(child.pid());
  if (!ledger) GTEST_SKIP() << "its slot was taken";
  const auto present = [ledger] { return __atomic_load_n(&ledger->state, __ATOMIC_RELAXED); };
  std::vector<std::string> reported;
  for (int n = 0; n < 2'000 && reported.size() < 10; ++n) {
    usleep(5'000);
    if (present() != LEDGER_ON_CPU) continue;  // the thread waits for its CPU
    let_come_unseen(*ledger);
    std::string text;
    measuring.syscalls->look_for_hangs(1ms, [&](const Record& record) {
      if (record.schema->id == RECORD_SPAN) text = record.as<span_record>().text;
    });
    const bool ran_all_along = present() == LEDGER_SLEEPING;
    if (!text.empty() && ran_all_along) reported.push_back(text);
    if (ran_all_along) ledger->state = LEDGER_ON_CPU;
  }
  EXPECT_EQ(reported.size(), 10u);
  EXPECT_GE(std::ranges::count(reported, "running"), 8);  // else it left its CPU unreported
  // Before Linux 6.18, the session ends when no thread is busy in the kernel (docs/kernels.md).
  *over = true;
  EXPECT_EQ(child.end(), 0);
}

}  // namespace
}  // namespace overdue

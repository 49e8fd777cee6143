// The open call moves with its thread from CPU to CPU until it ends, and is reported once.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <ctime>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "probes/sched/probe_fixture.h"
#include "probes/syscalls/sleepers_fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

class CallInFlight : public KernelTest {};

void sleep_for(u64 ns) {
  const timespec time{0, static_cast<long>(ns)};
  syscall(SYS_nanosleep, &time, nullptr);
}

TEST_F(CallInFlight, ThatMovesToAnotherCpuIsToldOfOnceWithAllItsParts) {
  constexpr int threads = 6, sleeps = 20;
  if (possible_cpu_count() < 2) GTEST_SKIP() << "needs two CPUs";
  Shared<std::atomic<bool>> ends;
  Child child([&](Child&) {
    std::array<std::atomic<pid_t>, threads> tids{};  // 0: not started, or ended
    std::vector<std::thread> running;
    for (std::atomic<pid_t>& tid : tids)
      running.emplace_back([&tid] {
        tid = static_cast<pid_t>(this_tid());
        for (int n = 0; n < sleeps; ++n) sleep_for(6'000'000);
        tid = 0;
      });
    // The sleeping threads are moved from CPU to CPU, while the calls of this thread are quick.
    for (unsigned round = 0; !*ends; ++round)
      for (const std::atomic<pid_t>& tid : tids) {
        cpu_set_t set;
        CPU_ZERO(&set);
        CPU_SET(round % 2, &set);
        if (const pid_t known = tid; known != 0) sched_setaffinity(known, sizeof set, &set);
        syscall(SYS_getppid);
      }
    for (std::thread& thread : running) thread.join();
  });
  Explaining measuring({child.pid()}, 5ms);
  measuring.session.arm();
  child.go();
  usleep(static_cast<useconds_t>(sleeps) * 12'000);
  *ends = true;
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  EXPECT_EQ(std::ranges::count_if(
                seen.calls, [](const syscall_call& call) { return call.nr == SYS_nanosleep; }),
            threads * sleeps);
  EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
  std::size_t with_ledger = 0;
  for (const SeenSpan& span : seen.spans) {
    if (span.fixed.subject != SYS_nanosleep || !(span.fixed.flags & SPAN_HAS_LEDGER)) continue;
    ++with_ledger;
    EXPECT_NEAR(static_cast<double>(sum_of(span.fixed.ledger)),
                static_cast<double>(span.fixed.latency_ns),
                0.02 * static_cast<double>(span.fixed.latency_ns));
  }
  EXPECT_GE(with_ledger, threads * sleeps * 9 / 10) << "but for switches the kernel hides";
}

TEST_F(CallInFlight, ThatIsCommonHasNoWaitsUntilItIsOld) {
  constexpr u64 nap = 10'000'000, sleep = 60'000'000, least_age = 30'000'000;
  Shared<u64> long_naps;  // on a machine without CPU time for the child
  Child child([&](Child&) {
    for (int n = 0; n < 10; ++n) {
      const u64 before_ns = KernelClock::now_ns();
      sleep_for(nap);
      if (KernelClock::now_ns() - before_ns >= sleep) ++*long_naps;
    }
    sleep_for(sleep);
  });
  Explaining measuring({child.pid()}, 5ms);
  measuring.session.membership().control().call_age_min_ns[SYS_nanosleep] = least_age;
  measuring.session.arm();
  const u64 armed_ns = KernelClock::now_ns();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  std::size_t naps = 0, sleeps = 0;
  for (const SeenWait& wait : seen.waits) {
    if (wait.fixed.header.tid != child.pid() || wait.fixed.out_ns < armed_ns) continue;
    if (wait.fixed.state != WAIT_SLEEPING) continue;  // it may be preempted between its calls
    const u64 length_ns = wait.fixed.header.time_ns - wait.fixed.out_ns;
    if (length_ns >= nap && length_ns < least_age) ++naps;
    if (length_ns >= sleep) ++sleeps;
  }
  EXPECT_LE(naps, 1u) << "but for a call whose begin the kernel hides";
  EXPECT_GE(sleeps, 1u);
  EXPECT_LE(sleeps, 1 + *long_naps);
}

/// A time or moment that a call was given in memory, as it was given. select() overwrites it with
/// the time that is left, and poll() has it in a register.
TEST_F(CallInFlight, SaysTheTimeInMemoryThatItWasGiven) {
  constexpr long rest_ns = 20'000'000;
  Child child([&](Child&) {
    u32 word = 0;
    timespec rest{0, rest_ns};
    syscall(SYS_nanosleep, &rest, nullptr);
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &rest, nullptr);
    syscall(SYS_futex, &word, 0 /* FUTEX_WAIT */, 0, &rest, nullptr, 0);
    syscall(SYS_poll, nullptr, 0, 20);
    timeval left{0, rest_ns / 1000};
    syscall(SYS_select, 0, nullptr, nullptr, nullptr, &left);
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += 1;
    syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, TIMER_ABSTIME, &now, nullptr);
  });
  Explaining measuring({child.pid()}, 10ms);
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  std::vector<std::pair<u64, u64>> given;
  for (const SeenSpan& span : measuring.finish().spans) {
    const span_record& fixed = span.fixed;
    if (fixed.subject == SYS_clock_nanosleep && fixed.latency_ns > 900'000'000) {
      EXPECT_GE(fixed.header.time_ns, fixed.detail) << "it ends when it is to";
      EXPECT_GT(fixed.detail, fixed.header.time_ns - fixed.latency_ns);
    } else if (fixed.subject == SYS_nanosleep || fixed.subject == SYS_clock_nanosleep ||
               fixed.subject == SYS_futex || fixed.subject == SYS_poll ||
               fixed.subject == SYS_select) {
      given.emplace_back(fixed.subject, fixed.detail);
    }
  }
  const std::vector<std::pair<u64, u64>> all = {{SYS_nanosleep, rest_ns},
                                                {SYS_clock_nanosleep, rest_ns},
                                                {SYS_futex, rest_ns},
                                                {SYS_poll, 0},
                                                {SYS_select, 0}};
  EXPECT_EQ(given, all);
}

void a_call_is_open_or_ended(Duration threshold) {
  Shared<Sleepers> sleepers;
  Child child([&](Child&) { sleepers->sleep(300'000'000, 40'000'000); });
  child.go();
  sleepers->wait();
  constexpr int rounds = 6;
  std::size_t listed = 0;
  for (int round = 0; round < rounds; ++round) {
    Explaining measuring({child.pid()}, threshold);
    measuring.session.arm();
    usleep(330'000);
    const Explained& seen = measuring.finish();
    listed += sleepers->expect_open(seen.opens, seen.calls, measuring.session.start());
  }
  // The long sleeps of half the threads, three a round. Sleeps that began before the session are
  // not listed; nor, on a busy machine, sleeps that have ended while their thread waits for a CPU.
  EXPECT_GE(listed, rounds * 1u);
}

TEST_F(CallInFlight, ThatNobodyLooksUpAtItsEndIsOpenOrHasEnded) {
  a_call_is_open_or_ended(1h);
}

TEST_F(CallInFlight, ThatIsLateIsOpenOrHasEnded) {
  a_call_is_open_or_ended(1ns);
}

/// Moves a thread from CPU to CPU, as a busy machine does, until the object is destroyed.
class Driver {
 public:
  explicit Driver(pid_t tid)
      : thread_([this, tid] {
          for (unsigned round = 0; !ends_; ++round) {
            cpu_set_t set;
            CPU_ZERO(&set);
            CPU_SET(round % possible_cpu_count(), &set);
            sched_setaffinity(tid, sizeof set, &set);
            usleep(500);
          }
        }) {}
  ~Driver() {
    ends_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> ends_{false};
  std::thread thread_;
};

/// 256 MB of random bytes from one call, which computes them for long. The first and the last word
/// show where the call is. (Linux before 6.18 may let nothing be detached until the call has
/// ended.)
struct RandomBytes {
  u64 first = 0, last = 0;
  std::array<u64, (2'000'000 / sizeof(u64))> between;

  void read_all() {
    const Fd random(open("/dev/urandom", O_RDONLY | O_CLOEXEC));
    std::array<iovec, 130> parts;
    parts.fill({between.data(), sizeof between});
    parts.front() = {&first, sizeof first};
    parts.back() = {&last, sizeof last};
    readv(random.get(), parts.data(), parts.size());
  }
};

void a_call_of_a_running_thread_is_open(bool moves) {
  for (int tries = 0; tries < 10; ++tries) {
    const Shared<RandomBytes> bytes;
    Child child([&](Child&) { bytes->read_all(); });
    Explaining measuring({child.pid()}, 1h);
    measuring.session.arm();
    child.go();
    while (__atomic_load_n(&bytes->first, __ATOMIC_ACQUIRE) == 0) usleep(1'000);
    const u64 inside_ns = KernelClock::now_ns();
    std::optional<Driver> driver;
    if (moves) driver.emplace(child.pid());
    usleep(50'000);
    const u64 end_ns = KernelClock::now_ns();
    const Explained& seen = measuring.finish();
    const auto open = std::ranges::find(seen.opens, u32{SYS_readv}, &syscall_open::nr);
    if (open != seen.opens.end()) {
      EXPECT_GE(open->age_ns, end_ns - inside_ns);
      return;
    }
    // The call may have ended before the check.
    ASSERT_NE(__atomic_load_n(&bytes->last, __ATOMIC_ACQUIRE), 0u);
  }
  FAIL() << "the call always ended too early for this test";
}

TEST_F(CallInFlight, OfAThreadThatRunsIsOpen) {
  a_call_of_a_running_thread_is_open(false);
}

TEST_F(CallInFlight, OfAThreadThatMovesWhileCallsAreListedIsOpen) {
  if (possible_cpu_count() < 2) GTEST_SKIP() << "needs two CPUs";
  for (int times = 0; times < 5; ++times) a_call_of_a_running_thread_is_open(true);
}

/// Some interrupts come just after the end of the call was read.
TEST_F(CallInFlight, ThatIsQuickHasNoPartOfAnInterruptBehindIt) {
  constexpr int rounds = 40, calls = 2'000;
  Child child([](Child& self) {
    for (int round = 0; round < rounds; ++round) {
      call_times(SYS_getppid, calls);
      self.step();
    }
  });
  Explaining measuring({child.pid()}, 1ns, 0);
  measuring.session.arm();
  for (int round = 0; round < rounds; ++round) {
    child.run_step();
    measuring.session.poll(measuring.seen.handler());
  }
  int quick = 0;
  for (const SeenSpan& span : measuring.finish().spans) {
    if (span.fixed.subject != SYS_getppid || !(span.fixed.flags & SPAN_HAS_LEDGER)) continue;
    ++quick;
    const ledger_parts& parts = span.fixed.ledger;
    ASSERT_LE(std::max({parts.oncpu_ns, parts.irq_ns, parts.softirq_ns}), span.fixed.latency_ns);
  }
  EXPECT_GT(quick, rounds * calls / 2);
}

TEST_F(CallInFlight, OfOurselvesIsNobodysAfterCalibration) {
  Child child([](Child&) {});
  Explaining measuring({child.pid()}, 1h);
  EXPECT_GT(measuring.session.calibrate(time_getppid()).traced_ns, 0);
  measuring.session.arm();
  const u64 before = measuring.sched->calls();
  call_times(SYS_getppid, 1'000);
  EXPECT_LT(measuring.sched->calls() - before, 1'000u);
  measuring.finish();
}

}  // namespace
}  // namespace overdue

// Each wake-up by a timer gives one record, whose moments follow one another, beginning with the
// one that the program asked for.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <barrier>
#include <csignal>
#include <ctime>
#include <functional>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/app_timers/probe.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;
using AppTimersTest = KernelTest;

constexpr std::uint64_t ms = 1'000'000;
/// Number of wake-ups that a hardened kernel may hide.
constexpr std::size_t hidden = 2;

struct Measured {
  std::vector<app_timer> timers;
  std::uint64_t unmatched = 0;
  std::uint64_t slept_again = 0;

  std::vector<app_timer> of(std::uint32_t nr) const {
    std::vector<app_timer> some;
    std::copy_if(timers.begin(), timers.end(), std::back_inserter(some),
                 [&](const app_timer& one) { return one.nr == nr; });
    return some;
  }
};

/// The timers that a child running `work` waits for.
Measured measure_child(const std::function<void()>& work, const AppTimersOptions& options = {}) {
  Measured measured;
  Child child([&](Child& self) {
    work();
    self.step();
  });
  MembershipRules rules;
  rules.pids = {child.pid()};
  Session session(rules, 1 << 20);
  auto made = std::make_unique<AppTimersProbe>(session.membership().maps(), options);
  AppTimersProbe& probe = *made;
  session.add(std::move(made));
  session.arm();
  child.run_step();
  const RecordHandler take = [&](const Record& record) {
    measured.timers.push_back(record.as<app_timer>());
  };
  session.finish(take);
  measured.unmatched = probe.counters()[COUNTER_UNMATCHED];
  measured.slept_again = probe.slept_again();
  return measured;
}

void sleep_until(std::uint64_t ns, clockid_t clock = CLOCK_MONOTONIC) {
  const timespec at{static_cast<time_t>(ns / 1'000'000'000), static_cast<long>(ns % 1'000'000'000)};
  syscall(SYS_clock_nanosleep, clock, TIMER_ABSTIME, &at, nullptr);
}

std::uint64_t now(clockid_t clock = CLOCK_MONOTONIC) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
         static_cast<std::uint64_t>(time.tv_nsec);
}

void expect_order(const app_timer& timer) {
  EXPECT_LE(timer.expires_ns, timer.irq_ns);
  EXPECT_LE(timer.irq_ns, timer.wake_ns);
  EXPECT_LE(timer.wake_ns, timer.run_ns);
  EXPECT_LE(timer.run_ns, timer.header.time_ns);
  EXPECT_NE(timer.function, 0U);
}

TEST_F(AppTimersTest, SleepsFromTheMomentAskedFor) {
  struct Asked {
    std::uint64_t earliest_ns, latest_ns;
  };
  constexpr std::uint64_t ahead = 10 * ms;  // a timer set after its time counts from then
  Shared<std::array<Asked, 20>> asked;
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME}) {
    const Measured measured = measure_child([&] {
      for (Asked& at : *asked) {
        at.earliest_ns = now() + ahead;
        const std::uint64_t until_ns = now(clock) + ahead;
        at.latest_ns = now() + ahead;
        sleep_until(until_ns, clock);
      }
    });
    const std::vector<app_timer> sleeps = measured.of(SYS_clock_nanosleep);
    EXPECT_GE(sleeps.size() + measured.unmatched + hidden, asked->size());
    EXPECT_LE(sleeps.size(), asked->size());
    for (const app_timer& sleep : sleeps) {
      expect_order(sleep);
      EXPECT_EQ(sleep.slack_ns, 50'000U);
      // Between the test's own two readings, however far apart; one clock is converted to the
      // other.
      EXPECT_TRUE(std::any_of(asked->begin(), asked->end(), [&](const Asked& at) {
        return sleep.expires_ns + 1'000 >= at.earliest_ns &&
               sleep.expires_ns <= at.latest_ns + 1'000;
      })) << sleep.expires_ns;
    }
  }
}

TEST_F(AppTimersTest, TimeoutsTimerfdsAndSignals) {
  const Measured measured = measure_child([] {
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const itimerspec every{.it_interval = {0, 10'000'000}, .it_value = {0, 10'000'000}};
    timerfd_settime(timer, 0, &every, nullptr);
    std::uint64_t count;
    // The thread does not wait for a timer that has expired already.
    const auto is_to_be_waited_for = [&] {
      pollfd expired{.fd = timer, .events = POLLIN, .revents = 0};
      return poll(&expired, 1, 0) == 0;
    };
    for (int waits = 0; waits < 5;) {
      waits += is_to_be_waited_for();
      EXPECT_GT(read(timer, &count, sizeof count), 0);
    }
    const int poller = epoll_create1(0);
    epoll_event event{.events = EPOLLIN, .data = {}};
    epoll_ctl(poller, EPOLL_CTL_ADD, timer, &event);
    for (int waits = 0; waits < 5;) {
      waits += is_to_be_waited_for();
      EXPECT_EQ(syscall(SYS_epoll_wait, poller, &event, 1, -1), 1);
      EXPECT_GT(read(timer, &count, sizeof count), 0);
    }
    close(timer);
    for (int i = 0; i < 5; ++i) syscall(SYS_epoll_wait, poller, &event, 1, 3);
    signal(SIGALRM, [](int) {});
    // More than once: the first signal may come before pause().
    const itimerval alarm{.it_interval = {0, 3'000}, .it_value = {0, 3'000}}, none{};
    for (int i = 0; i < 5; ++i) {
      setitimer(ITIMER_REAL, &alarm, nullptr);
      pause();
    }
    setitimer(ITIMER_REAL, &none, nullptr);
  });
  const auto expect = [&](std::uint32_t nr, std::size_t least, std::size_t most) {
    const std::vector<app_timer> some = measured.of(nr);
    EXPECT_GE(some.size() + measured.unmatched + hidden, least) << nr;
    EXPECT_LE(some.size(), most) << nr;
    for (const app_timer& one : some) expect_order(one);
  };
  expect(SYS_read, 4, 10);
  expect(SYS_epoll_wait, 9, 10);
  expect(SYS_pause, 5, 5);
}

TEST_F(AppTimersTest, ASleepUntilThePastIsNotCenturiesLate) {
  const Measured measured = measure_child([] {
    for (int i = 0; i < 20; ++i) sleep_until(1'000'000'000, CLOCK_REALTIME);
    sleep_until(now() + 3 * ms);
  });
  for (const app_timer& sleep : measured.timers)
    EXPECT_LT(sleep.header.time_ns - sleep.expires_ns, 1'000 * ms);
}

TEST_F(AppTimersTest, WhoWaitsAgainIsCounted) {
  const Measured measured = measure_child([] {
    const int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    const itimerspec every{.it_interval = {0, 5'000'000}, .it_value = {0, 5'000'000}};
    timerfd_settime(timer, 0, &every, nullptr);
    // Both threads are woken, and one finds that the other has read the timer. Both wait each time:
    // one thread alone would do all of its reads while the other has no CPU. On a busy machine, one
    // may come after the timer's expiry, and read without a wait.
    std::barrier<> both(2);
    const auto take = [&] {
      std::uint64_t count;
      for (int i = 0; i < 60; ++i) {
        both.arrive_and_wait();
        EXPECT_GT(read(timer, &count, sizeof count), 0);
      }
    };
    std::thread other(take);
    take();
    other.join();
  });
  EXPECT_GE(measured.slept_again, 5U);
  EXPECT_LE(measured.of(SYS_read).size(), 120U);
  for (const app_timer& one : measured.of(SYS_read)) expect_order(one);
}

TEST_F(AppTimersTest, StacksOfLateInterruptsOnly) {
  AppTimersOptions options;
  options.stack_over = 10s;
  const auto work = [] {
    for (int i = 0; i < 10; ++i) sleep_until(now() + ms);
  };
  for (const app_timer& one : measure_child(work, options).timers) EXPECT_EQ(one.kernel_frames, 0U);
  options.stack_over = 1ns;
  std::size_t stacks = 0;
  for (const app_timer& one : measure_child(work, options).timers) {
    stacks += one.kernel_frames > 0;
    EXPECT_EQ(one.header.size, sizeof(one) + 8 * one.kernel_frames);
  }
  EXPECT_GT(stacks, 0U);
}

}  // namespace
}  // namespace overdue

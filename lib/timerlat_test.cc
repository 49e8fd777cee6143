#include "overdue/timerlat.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <ctime>
#include <memory>

namespace {

constexpr std::uint64_t ms = 1'000'000;

std::uint64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000 * ms +
         static_cast<std::uint64_t>(now.tv_nsec);
}

struct Close {
  void operator()(overdue_timerlat* timer) const { overdue_timerlat_close(timer); }
};
using Timer = std::unique_ptr<overdue_timerlat, Close>;

/// Binds the thread to one CPU, and restores its affinity afterwards.
class TimerlatLibrary : public ::testing::Test {
 protected:
  TimerlatLibrary() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_ = static_cast<unsigned>(sched_getcpu());
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu_, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~TimerlatLibrary() override { sched_setaffinity(0, sizeof before_, &before_); }

  Timer open(std::uint64_t period_ns) const {
    overdue_timerlat* timer = nullptr;
    EXPECT_EQ(overdue_timerlat_open(cpu_, period_ns, &timer), 0);
    return Timer(timer);
  }
  int refusal(unsigned cpu, std::uint64_t period_ns) const {
    overdue_timerlat* timer = nullptr;
    const int refused = overdue_timerlat_open(cpu, period_ns, &timer);
    EXPECT_EQ(timer, nullptr);
    return refused;
  }

  unsigned cpu_ = 0;
  cpu_set_t before_{};
};

TEST_F(TimerlatLibrary, PeriodsEndOneAfterTheOtherAndNoneIsForgotten) {
  constexpr std::uint64_t period_ns = 2 * ms;
  const std::uint64_t before_ns = now_ns();
  const Timer timer = open(period_ns);
  std::uint64_t first_ns = 0, ended = 0;
  for (std::uint64_t i = 1; i <= 20; ++i) {
    overdue_timerlat_activation seen{};
    ASSERT_EQ(overdue_timerlat_wait(timer.get(), &seen), 0);
    const std::uint64_t after_ns = now_ns();
    EXPECT_EQ(seen.number, i);
    if (i == 1) first_ns = seen.expires_ns;
    EXPECT_EQ((seen.expires_ns - first_ns) % period_ns, 0u);
    EXPECT_LE(seen.expires_ns - first_ns, (ended + seen.missed) * period_ns);
    EXPECT_LE(seen.expires_ns + seen.user_ns, after_ns);
    EXPECT_EQ(seen.done_ns == 0, i == 1);
    ended += 1 + seen.missed;
    EXPECT_LE(before_ns + ended * period_ns, after_ns);
  }
}

TEST_F(TimerlatLibrary, WorkThatTakesLongerThanAPeriodIsSeen) {
  const Timer timer = open(2 * ms);
  overdue_timerlat_activation first{}, second{}, third{};
  ASSERT_EQ(overdue_timerlat_wait(timer.get(), &first), 0);
  const std::uint64_t until_ns = first.expires_ns + 7 * ms;
  while (now_ns() < until_ns) continue;
  ASSERT_EQ(overdue_timerlat_wait(timer.get(), &second), 0);
  EXPECT_GE(second.done_ns, 7 * ms);
  // Periods end after 2, 4 and 6 ms; one is not missed. The first wait counts those that ended
  // before its thread got to run.
  EXPECT_GE(first.missed + second.missed, 2u);
  EXPECT_GE(second.expires_ns, first.expires_ns + 6 * ms);
  ASSERT_EQ(overdue_timerlat_wait(timer.get(), &third), 0);
  EXPECT_GT(third.expires_ns, second.expires_ns);
  EXPECT_EQ((third.expires_ns - first.expires_ns) % (2 * ms), 0u);
}

TEST_F(TimerlatLibrary, ItsDescriptorIsReadableWhenAPeriodIsOver) {
  const Timer timer = open(50 * ms);
  pollfd readable{.fd = overdue_timerlat_fd(timer.get()), .events = POLLIN, .revents = 0};
  const std::uint64_t begin_ns = now_ns();
  ASSERT_EQ(poll(&readable, 1, 10'000), 1);
  EXPECT_GE(now_ns() - begin_ns, 30 * ms);
  overdue_timerlat_activation seen{};
  ASSERT_EQ(overdue_timerlat_wait(timer.get(), &seen), 0);
  EXPECT_EQ(seen.number, 1u);
}

TEST_F(TimerlatLibrary, ASignalInterruptsTheWaitAndNotItsReckoning) {
  struct sigaction action{};
  action.sa_handler = [](int) {};
  struct sigaction former{};
  ASSERT_EQ(sigaction(SIGALRM, &action, &former), 0);
  const Timer timer = open(500 * ms);
  const itimerval often{.it_interval = {.tv_sec = 0, .tv_usec = 20'000},
                        .it_value = {.tv_sec = 0, .tv_usec = 20'000}};
  ASSERT_EQ(setitimer(ITIMER_REAL, &often, nullptr), 0);
  overdue_timerlat_activation seen{};
  int interrupted = 0, result = 0;
  while ((result = overdue_timerlat_wait(timer.get(), &seen)) == -EINTR) ++interrupted;
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  EXPECT_GT(interrupted, 0);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(seen.number, 1u);
  EXPECT_EQ(seen.done_ns, 0u);
  sigaction(SIGALRM, &former, nullptr);
}

TEST_F(TimerlatLibrary, RefusesWhatItCannotMeasure) {
  EXPECT_EQ(refusal(cpu_, OVERDUE_TIMERLAT_PERIOD_MIN_NS - 1), -EINVAL);
  EXPECT_EQ(refusal(cpu_, OVERDUE_TIMERLAT_PERIOD_MAX_NS + 1), -EINVAL);
  EXPECT_EQ(refusal(1u << 20, ms), -EINVAL);
  if (CPU_COUNT(&before_) < 2) GTEST_SKIP() << "one CPU: no thread can run on others";
  EXPECT_EQ(refusal(cpu_ == 0 ? 1 : 0, ms), -EPERM);
  ASSERT_EQ(sched_setaffinity(0, sizeof before_, &before_), 0);
  EXPECT_EQ(refusal(cpu_, ms), -EPERM);
}

TEST_F(TimerlatLibrary, ClosingNothingIsAllowed) {
  overdue_timerlat_close(nullptr);
}

}  // namespace


#include <poll.h>

#include <ctime>

#include "probes/span_fixture.h"

namespace overdue {
namespace {

class TimersProbe : public SpanTest {
 protected:
  TimersProbe() : SpanTest({SPAN_TIMER}) {}

  std::vector<SeenSpan> of_thread(std::uint32_t tid) const {
    std::vector<SeenSpan> spans = of(SPAN_TIMER);
    std::erase_if(spans, [tid](const SeenSpan& span) { return span.record.begin_tid != tid; });
    return spans;
  }
};

constexpr int sleeps = 20;
constexpr u64 second_ns = 1'000'000'000;

void sleep_on(clockid_t clock, bool absolute, long add_ns) {
  timespec time{0, add_ns};
  if (absolute) {
    clock_gettime(clock, &time);
    time.tv_nsec += add_ns;
    if (time.tv_nsec >= 1'000'000'000) time.tv_sec += 1, time.tv_nsec -= 1'000'000'000;
  }
  clock_nanosleep(clock, absolute ? TIMER_ABSTIME : 0, &time, nullptr);
}

TEST_F(TimersProbe, EverySleepOfAMemberHasAnExpiryWhateverItsClock) {
  for (const clockid_t clock : {CLOCK_MONOTONIC, CLOCK_REALTIME, CLOCK_BOOTTIME, CLOCK_TAI}) {
    for (const bool absolute : {false, true}) {
      SCOPED_TRACE(fmt::format("clock {}, absolute {}", clock, absolute));
      Child bystander([](Child&) {
        while (true) usleep(1'000);
      });
      Child child([=](Child&) {
        // With slack, a timer may expire in time, with another timer's interrupt.
        prctl(PR_SET_TIMERSLACK, 1);
        for (int i = 0; i < sleeps; ++i) sleep_on(clock, absolute, 2'000'000);
      });
      measure(only(child.pid()));
      want(SPAN_TIMER, 1);
      arm();
      bystander.go();
      child.go();
      EXPECT_EQ(child.end(), 0);
      finish();
      expect_sound();
      const auto spans = of_thread(child.pid());
      // A hardened kernel runs no BPF program of the test while threads of its own agent run, for
      // milliseconds, although its tracer sees the expiries: a few are missing at worst.
      EXPECT_GE(spans.size(), std::size_t{sleeps} / 2);
      EXPECT_LE(spans.size(), std::size_t{sleeps});
      EXPECT_EQ(receipt().lost(), nested());
      EXPECT_EQ(of(SPAN_TIMER).size(), spans.size()) << "another's";
      for (const SeenSpan& span : spans) {
        EXPECT_EQ(span.record.begin_pid, child.pid());
        EXPECT_NE(span.record.subject, 0u);
        EXPECT_LT(span.record.latency_ns, 10 * second_ns);  // a wrong clock gives decades
      }
      forget();
    }
  }
}

TEST_F(TimersProbe, ASleepUntilThePastIsNotLateByDecades) {
  Child child([](Child&) {
    for (int i = 0; i < sleeps; ++i) {
      const timespec long_ago{1, 0};
      clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &long_ago, nullptr);
      clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &long_ago, nullptr);
    }
  });
  measure(only(child.pid()));
  want(SPAN_TIMER, 1);
  arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  finish();
  for (const SeenSpan& span : of(SPAN_TIMER)) EXPECT_LT(span.record.latency_ns, 10 * second_ns);
  EXPECT_EQ(receipt().lost(), nested());
}

TEST_F(TimersProbe, OfEverythingThereAreTimersNobodySleepsFor) {
  measure();
  want(SPAN_TIMER, 1);
  arm();
  usleep(200'000);
  finish();
  expect_sound();
  const auto spans = of(SPAN_TIMER);
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(),
                          [](const SeenSpan& span) { return span.record.begin_tid == 0; }));
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(),
                          [](const SeenSpan& span) { return span.record.begin_tid != 0; }));
  EXPECT_TRUE(std::any_of(spans.begin(), spans.end(),
                          [](const SeenSpan& span) { return span.frames.size() > 2; }));
}

TEST_F(TimersProbe, AThresholdNobodyReachesReportsNothing) {
  measure();
  want(SPAN_TIMER, 3600 * second_ns);
  arm();
  usleep(100'000);
  finish();
  EXPECT_TRUE(of(SPAN_TIMER).empty());
}

}  // namespace
}  // namespace overdue

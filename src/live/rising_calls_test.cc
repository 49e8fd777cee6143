#include "live/rising_calls.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>

namespace overdue {
namespace {

using namespace std::chrono_literals;

void count(RisingCalls& calls, std::uint64_t nr, int times, Duration latency = {}) {
  span_record span{};
  span.latency_ns = static_cast<std::uint64_t>(latency.count());
  span.span = SPAN_SYSCALL;
  span.subject = nr;
  for (int i = 0; i < times; ++i) calls.count(span);
}

TEST(RisingCalls, TheThresholdOfSleepsRisesAloneAndNotForEver) {
  RisingCalls calls;
  for (const Duration expected : {4ms, 16ms, 64ms, 256ms, 1024ms, 4096ms, 16384ms, 65536ms}) {
    count(calls, SYS_clock_nanosleep, 60);
    count(calls, SYS_fsync, 40);
    EXPECT_TRUE(calls.rise(1ms));
    EXPECT_EQ(calls.thresholds().at(SYS_clock_nanosleep), expected);
  }
  count(calls, SYS_clock_nanosleep, 60);
  EXPECT_FALSE(calls.rise(1ms));
  EXPECT_EQ(calls.thresholds().size(), 1u);
  EXPECT_EQ(calls.text(), ", clock_nanosleep from 65.5s on");
}

TEST(RisingCalls, TheThresholdRisesAtOnceToWhereFewAreLate) {
  RisingCalls calls;
  count(calls, SYS_clock_nanosleep, 1'000, 3ms);
  count(calls, SYS_clock_nanosleep, 1'000, 40ms);
  count(calls, SYS_clock_nanosleep, 30, 900ms);
  EXPECT_TRUE(calls.rise(1ms));
  EXPECT_EQ(calls.thresholds().at(SYS_clock_nanosleep), 256ms);
  count(calls, SYS_clock_nanosleep, 1'000, 100s);
  EXPECT_TRUE(calls.rise(1ms));
  EXPECT_EQ(calls.thresholds().at(SYS_clock_nanosleep), 65536ms) << "no higher";
}

TEST(RisingCalls, LocksAndDisksDoNot) {
  RisingCalls calls;
  count(calls, SYS_futex, 1'000);
  EXPECT_FALSE(calls.rise(1ms));
  count(calls, SYS_fsync, 1'000);
  EXPECT_FALSE(calls.rise(1ms));
  EXPECT_TRUE(calls.thresholds().empty());
  EXPECT_EQ(calls.text(), "");
}

TEST(RisingCalls, NorDoesACallThatIsHalfOfWhatIsLate) {
  RisingCalls calls;
  count(calls, SYS_epoll_wait, 50);
  span_record other{};
  other.span = SPAN_OFFCPU;
  for (int i = 0; i < 50; ++i) calls.count(other);
  EXPECT_FALSE(calls.rise(1ms));
  count(calls, SYS_epoll_wait, 51);
  EXPECT_TRUE(calls.rise(1ms)) << "what came before the last time does not count";
}

}  // namespace
}  // namespace overdue

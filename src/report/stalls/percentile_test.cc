#include "report/stalls/percentile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "core/histogram.h"

namespace overdue::percentile_test {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr Percentile p99{990'000};

class Counted {
 public:
  Counted& add(Duration latency, std::uint64_t times = 1) {
    buckets_[histogram_bucket(latency.count())] += times;
    return *this;
  }
  std::span<const std::uint64_t, HISTOGRAM_BUCKETS> buckets() const { return buckets_; }

 private:
  std::array<std::uint64_t, HISTOGRAM_BUCKETS> buckets_{};
};

std::optional<Duration> chosen(const Counted& counted, Percentile asked = p99) {
  PercentileThreshold threshold(asked);
  threshold.choose(counted.buckets(), asked.late_share());
  return threshold.threshold();
}

TEST(Percentile, IsReadAndWritten) {
  EXPECT_EQ(parse_percentile("p99"), p99);
  for (const char* const text : {"p50", "p95", "p99.9", "p99.95", "p99.99"})
    EXPECT_EQ(to_text(parse_percentile(text).value()), text);
  EXPECT_EQ(parse_percentile("10ms"), std::nullopt);
  EXPECT_EQ(to_text(Percentile{998'750}), "p99.875");
}

TEST(Percentile, IsRefusedBeyondItsRange) {
  for (const char* const wrong :
       {"p", "p49.9", "p100", "p99.999", "p99x", "p-99", "p99%", "pnan", "p9e1", "pinf", "p 99"}) {
    try {
      parse_percentile(wrong);
      ADD_FAILURE() << "accepted: " << wrong;
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("p50 to p99.99"));
      EXPECT_THAT(error.hint(), StartsWith("-T p99"));
      EXPECT_EQ(error.exit_status(), 2);
    }
  }
}

TEST(PercentileThreshold, IsTheLowerBoundOfTheBucketOfThePercentile) {
  Counted counted;
  for (std::uint64_t us = 1; us <= 10'000; ++us) counted.add(std::chrono::microseconds(us));
  const Duration threshold = chosen(counted).value();
  EXPECT_LE(threshold, 9'900us);
  EXPECT_GE(threshold, 9'900us * 15 / 16);
}

TEST(PercentileThreshold, FindsTheFewSlowOperations) {
  Counted counted;
  counted.add(1ms, 980).add(20ms, 20);
  const Duration threshold = chosen(counted).value();
  EXPECT_LE(threshold, 20ms);
  EXPECT_GT(threshold, 15ms);
}

TEST(PercentileThreshold, LeavesOutABucketThatIsMostOfAll) {
  const Counted counted = Counted().add(1ms, 100'000);
  PercentileThreshold threshold(p99);
  threshold.choose(counted.buckets(), p99.late_share());
  EXPECT_LE(threshold.threshold().value(), 1ms) << "not known to be no idle waits";
  for (int i = 0; i < 16; ++i) threshold.examined(1'000'000, false);
  threshold.choose(counted.buckets(), p99.late_share());
  EXPECT_GT(threshold.threshold().value(), 1ms);
  EXPECT_LT(threshold.threshold().value(), 1'130us);
}

TEST(PercentileThreshold, NeedsEnoughOperations) {
  EXPECT_EQ(chosen(Counted().add(1ms, 99)), std::nullopt);
  EXPECT_NE(chosen(Counted().add(1ms, 100)), std::nullopt);
  constexpr Percentile p99_9{999'000};
  EXPECT_EQ(chosen(Counted().add(1ms, 999), p99_9), std::nullopt);
  EXPECT_NE(chosen(Counted().add(1ms, 1'000), p99_9), std::nullopt);
  EXPECT_NE(chosen(Counted().add(1ms, 100), Percentile{500'000}), std::nullopt);
}

TEST(PercentileThreshold, FallsUntilIdleWaitsDoNotCount) {
  Counted counted;
  for (int i = 0; i < 7; ++i) counted.add(10ms * (1 << i), 1'000);  // waits for work, up to 640 ms
  counted.add(10us, 2'970).add(1ms, 30);
  PercentileThreshold threshold(p99);
  for (int look = 0; look < 10; ++look) {
    threshold.choose(counted.buckets(), p99.late_share());
    for (int i = 0; i < 7; ++i)
      if (10ms * (1 << i) >= threshold.threshold().value())
        threshold.examined(static_cast<std::uint64_t>(Duration(10ms * (1 << i)).count()), true);
    if (threshold.threshold() <= Duration(1ms)) threshold.examined(1'000'000, false);
  }
  EXPECT_LE(threshold.threshold().value(), 1ms);
  EXPECT_GT(threshold.threshold().value(), 900us);
  EXPECT_EQ(threshold.operations(), 3'000u);
  EXPECT_EQ(threshold.idle(), 7'000u);
}

TEST(PercentileThreshold, ExaminesTheSlowestOfIdleWaits) {
  const Counted counted = Counted().add(1ms, 490).add(1s, 10);
  PercentileThreshold threshold(p99);
  for (int i = 0; i < 20; ++i) {
    threshold.examined(1'000'000, true);
    threshold.examined(1'000'000'000, true);
  }
  threshold.choose(counted.buckets(), p99.late_share());
  EXPECT_GT(threshold.threshold().value(), 900ms);
  EXPECT_LE(threshold.threshold().value(), 1s);
  EXPECT_EQ(threshold.operations(), 0u);
  EXPECT_EQ(threshold.idle(), 500u);
}

TEST(PercentileThreshold, OfASmallerShareIsLonger) {
  Counted counted;
  for (std::uint64_t us = 1; us <= 10'000; ++us) counted.add(std::chrono::microseconds(us));
  PercentileThreshold threshold(p99);
  threshold.choose(counted.buckets(), p99.late_share() / 16);
  EXPECT_GT(threshold.threshold().value(), chosen(counted).value());
}

}  // namespace
}  // namespace overdue::percentile_test

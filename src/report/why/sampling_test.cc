#include "report/why/sampling.h"

#include <gtest/gtest.h>

namespace overdue::sampling_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

span_record futex_span(std::uint64_t end_ms, std::uint64_t late_ms) {
  span_record span{};
  span.header.time_ns = end_ms * ms;
  span.header.tid = 7;
  span.span = SPAN_SYSCALL;
  span.subject = 202;
  span.latency_ns = late_ms * ms;
  return span;
}

TEST(WhySampling, AllWhileTheyAreFewAndSomeOfVeryMany) {
  WhySampling few;
  for (std::uint64_t i = 1; i <= 20; ++i) EXPECT_TRUE(few.wants(futex_span(100 * i, 5), {}));
  EXPECT_EQ(few.left_out(), 0u);

  WhySampling many;
  std::uint64_t explained = 0;
  for (std::uint64_t i = 1; i <= 10'000; ++i)
    if (many.wants(futex_span(1000 + i / 50, 5), {})) ++explained;
  EXPECT_LT(explained, 500u);
  EXPECT_EQ(explained + many.left_out(), 10'000u);
  const WhySampling::Class of("syscall", "futex", "", 0, false);
  // The first is the longest, and stands for itself.
  EXPECT_NEAR(many.weight(of) * static_cast<double>(explained - 1), 9'999, 1);
}

TEST(WhySampling, EachPartOfTheSessionStandsForItself) {
  WhySampling sampling;
  std::uint64_t early = 0, late = 0;
  for (std::uint64_t i = 0; i < 1'000; ++i)
    early += sampling.wants(futex_span(1000 + i / 100, 5), {});
  for (std::uint64_t i = 0; i < 1'000; ++i)
    late += sampling.wants(futex_span(1300 + i / 10, 5), {});
  Finding finding;
  finding.span = "syscall";
  finding.name = "futex";
  finding.thread.tid = 8;
  const auto weight_at = [&](std::uint64_t time_ms) {
    finding.time = KernelTime(Duration(time_ms * ms));
    return sampling.weight(sampling.class_of(finding));
  };
  // The first of a part is its longest, and stands for itself.
  EXPECT_NEAR(weight_at(1001) * static_cast<double>(early - 1), 999, 1);
  EXPECT_NEAR(weight_at(1301) * static_cast<double>(late - 1), 999, 1);
}

TEST(WhySampling, TheLongestIsAlwaysExplainedAndStandsForItself) {
  WhySampling sampling;
  for (std::uint64_t i = 1; i <= 5'000; ++i) sampling.wants(futex_span(1000, 5), {});
  ASSERT_TRUE(sampling.wants(futex_span(1001, 900), {}));
  Finding finding;
  finding.span = "syscall";
  finding.name = "futex";
  finding.thread.tid = 7;
  finding.time = KernelTime(Duration(1001 * ms));
  EXPECT_EQ(sampling.weight(sampling.class_of(finding)), 1);
  finding.time = KernelTime(Duration(1000 * ms + 1));
  EXPECT_GT(sampling.weight(sampling.class_of(finding)), 1);
}

TEST(WhySampling, TheLongestOfRunnableTimesHasStacksAndWeightsStayTheirs) {
  WhySampling sampling;
  span_record span = futex_span(1000, 5);
  span.span = SPAN_OFFCPU;
  std::uint64_t with_stacks = 0;
  for (int i = 0; i < 5'000; ++i) with_stacks += sampling.wants_stacks(span);
  EXPECT_GE(with_stacks, 20u);
  EXPECT_LT(with_stacks, 500u);
  ++span.latency_ns;
  EXPECT_TRUE(sampling.wants_stacks(span));
  EXPECT_FALSE(sampling.wants_stacks(span)) << "as long as the longest";
  EXPECT_EQ(sampling.left_out(), 0u) << "all of them count";
  EXPECT_EQ(sampling.weight({"offcpu", "", "", 0, false}), 1);
}

TEST(WhySampling, AnIntervalHasWeightsOfItsOwn) {
  WhySampling sampling;
  std::uint64_t explained = 0;
  sampling.end_interval();
  for (std::uint64_t i = 1; i <= 5'000; ++i) sampling.wants(futex_span(1000, 5), {});
  sampling.end_interval();
  for (std::uint64_t i = 1; i <= 1'000; ++i)
    if (sampling.wants(futex_span(1001, 5), {})) ++explained;
  EXPECT_EQ(explained, 5u);  // without time for more, a few in each interval
  const WhySampling::Class of("syscall", "futex", "", 0, false);
  EXPECT_NEAR(sampling.weight(of, true) * static_cast<double>(explained), 1'000, 10);
  EXPECT_GT(sampling.weight(of, false), 1);
  EXPECT_NE(sampling.weight(of, false), sampling.weight(of, true));
  sampling.end_interval();  // nothing yet: the weight of the session
  EXPECT_EQ(sampling.weight(of, true), sampling.weight(of, false));
}

}  // namespace
}  // namespace overdue::sampling_test

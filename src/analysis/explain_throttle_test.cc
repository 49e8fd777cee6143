#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/explain_fixture.h"

namespace overdue {
namespace {

using ::testing::SizeIs;

/// Record that precedes the wait of thread 7 that ends at 1900.
sched_throttle throttle_of(std::initializer_list<std::string_view> names) {
  sched_throttle throttle{};
  name_thread(throttle.header, 7, "thread-7");
  throttle.header.kind = RECORD_SCHED_THROTTLE;
  throttle.header.size = sizeof throttle;
  throttle.header.time_ns = 1900;
  throttle.quota_ns = 20;
  throttle.period_ns = 100;
  std::size_t depth = 0;
  for (const std::string_view name : names)
    std::memcpy(throttle.names[depth++], name.data(), name.size());
  return throttle;
}

TEST(Explain, NamesTheCgroupThatThrottled) {
  Explainer e;
  sched_wait record = wait_of(7, 1000, 0, 1900);
  record.state = WAIT_THROTTLED;
  record.throttled_ns = 850;
  record.displacer_tid = 9;
  e.fed.add(throttle_of({"api", "shop"})).add(record).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.waits, SizeIs(1));
  const Wait& wait = e.finding.waits[0];
  EXPECT_EQ(wait.state, "throttled");
  EXPECT_EQ(wait.throttled_ns, 850u);
  EXPECT_EQ(wait.runqueue_ns, 50u) << "then it waits for the CPU";
  EXPECT_EQ(wait.blocked_ns(), 0u);
  EXPECT_FALSE(wait.preempted_by);
  ASSERT_TRUE(wait.throttle);
  EXPECT_EQ(wait.throttle->cgroup, "/shop/api");
  EXPECT_EQ(wait.throttle->quota_ns, 20u);
  EXPECT_EQ(wait.throttle->period_ns, 100u);
}

TEST(Explain, SaysThatACgroupIsDeeperThanItsRecordHasNames) {
  for (const auto& [names, path] :
       std::vector<std::pair<std::vector<std::string_view>, std::string>>{
           {{"d", "c", "b", "a"}, "…/a/b/c/d"}, {{"a"}, "/a"}, {{}, "/"}}) {
    Explainer e;
    sched_throttle throttle = throttle_of({});
    for (std::size_t i = 0; i < names.size(); ++i)
      std::memcpy(throttle.names[i], names[i].data(), names[i].size());
    sched_wait record = wait_of(7, 1000, 0, 1900);
    record.state = WAIT_THROTTLED;
    record.throttled_ns = 900;
    e.fed.add(throttle).add(record).add(span_of(7, 1000, 2000));
    ASSERT_TRUE(e.finding.waits.at(0).throttle);
    EXPECT_EQ(e.finding.waits[0].throttle->cgroup, path);
  }
}

TEST(Explain, TellsTheLimitOfRealTimeThreadsFromAQuota) {
  for (const u32 limit : {THROTTLE_QUOTA, THROTTLE_REAL_TIME}) {
    Explainer e;
    sched_throttle throttle = throttle_of({"api"});
    throttle.limit = limit;
    e.fed.add(throttle).add(wait_of(7, 1000, 0, 1900)).add(span_of(7, 1000, 2000));
    ASSERT_TRUE(e.finding.waits.at(0).throttle);
    EXPECT_EQ(e.finding.waits[0].throttle->of_real_time, limit == THROTTLE_REAL_TIME);
  }
}

TEST(Explain, NoWaitIsThrottledByAnothersRecord) {
  Explainer e;
  sched_throttle earlier = throttle_of({"api"});
  earlier.header.time_ns = 1800;
  e.fed.add(earlier).add(wait_of(7, 1000, 0, 1900)).add(span_of(7, 1000, 2000));
  EXPECT_FALSE(e.finding.waits.at(0).throttle);
}

TEST(Explain, NamesTheLimitOfAThrottledPartOfAChainsThread) {
  for (const u32 of_second : {8u, 7u}) {
    Explainer e;
    e.fed.add(wait_of(8, 1000, 1500, 1500, 9));
    sched_throttle throttle = throttle_of({"api"});
    name_thread(throttle.header, of_second, "worker");
    throttle.header.time_ns = 1850;
    sched_wait record = wait_of(8, 1550, 0, 1850);
    record.state = WAIT_THROTTLED;
    record.throttled_ns = 300;
    e.fed.add(throttle).add(record);
    e.fed.add(wait_of(7, 1000, 1900, 1950, 8)).add(span_of(7, 1000, 2000));
    ASSERT_GE(e.finding.chain.size(), 1u);
    const ChainLink& link = e.finding.chain[0];
    EXPECT_EQ(link.what, "waited");
    ASSERT_TRUE(link.ledger);
    EXPECT_EQ(link.ledger->ns(ShareKind::throttled), 300u);
    EXPECT_EQ(link.throttle.has_value(), of_second == 8) << "the record is another thread's";
    if (link.throttle) {
      EXPECT_EQ(link.throttle->cgroup, "/api");
    }
  }
}

/// An open call of thread 7, throttled since 1000.
span_record open_span() {
  span_record span = span_of(7, 500, 1900);
  span.flags |= SPAN_OPEN;
  span.detail = 900;
  span.throttled_ns = 850;
  std::strcpy(span.text, "throttled");
  return span;
}

TEST(Explain, NamesTheLimitThatThrottlesAnOpenCall) {
  Explainer e;
  sched_throttle throttle = throttle_of({});
  throttle.limit = THROTTLE_REAL_TIME;
  throttle.throttled_ns = 850;
  e.fed.add(throttle).add(open_span());
  const Wait& wait = e.finding.waits.at(0);
  EXPECT_EQ(wait.state, "throttled");
  EXPECT_EQ(wait.ns, 900u);
  EXPECT_EQ(wait.throttled_ns, 850u);
  ASSERT_TRUE(wait.throttle);
  EXPECT_TRUE(wait.throttle->of_real_time);
}

TEST(Explain, NoOpenCallIsThrottledByAnothersRecord) {
  Explainer e;
  sched_throttle earlier = throttle_of({"api"});
  earlier.header.time_ns = 1800;
  e.fed.add(earlier).add(open_span());
  EXPECT_FALSE(e.finding.waits.at(0).throttle);
}

TEST(Explain, ASleeperMayBeThrottledAfterItsWakeUp) {
  Explainer e;
  sched_wait record = wait_of(7, 1000, 1200, 1900, 8);
  record.throttled_ns = 600;
  e.fed.add(record).add(span_of(7, 1000, 2000));
  const Wait& wait = e.finding.waits.at(0);
  EXPECT_EQ(wait.state, "sleeping");
  EXPECT_EQ(wait.blocked_ns(), 200u);
  EXPECT_EQ(wait.throttled_ns, 600u);
  EXPECT_EQ(wait.runqueue_ns, 100u);
}

TEST(Explain, NobodyTookTheCpuOfWhomItIdledWithout) {
  Explainer e;
  sched_wait record = wait_of(7, 1000, 0, 1900);
  record.state = WAIT_UNKNOWN;
  e.fed.add(record).add(span_of(7, 1000, 2000));
  const Wait& wait = e.finding.waits.at(0);
  EXPECT_EQ(wait.state, "unknown");
  EXPECT_FALSE(wait.preempted_by);
  EXPECT_EQ(wait.runqueue_ns + wait.throttled_ns + wait.blocked_ns(), 0u);
}

}  // namespace
}  // namespace overdue

#include "sinks/finding_words.h"

#include <gtest/gtest.h>

#include "sinks/finding_fixture.h"

namespace overdue {
namespace {

TEST(SharesText, CallsTimeUnknownInWhichAPreemptedThreadsCpuIdled) {
  CpuShares ran;
  ran.add({0, 0, "swapper/1"}, 3'000'000);
  EXPECT_EQ(shares_text(by_threads, ran, 12'000'000), "by unknown 12.0ms");
  ran.add({0, 9, "hog"}, 9'000'000);
  EXPECT_EQ(shares_text(by_threads, ran, 12'000'000), "by hog[9] 9.00ms, unknown 3.00ms");
  EXPECT_EQ(shares_text("behind", ran, 12'000'000),
            "behind hog[9] 9.00ms, while the CPU idled 3.00ms");
}

TEST(SharesText, SaysNothingIfNoShareIsKnown) {
  EXPECT_EQ(shares_text(by_threads, {}, 12'000'000), "");
}

TEST(LinkText, NeverSaysThatAPreemptedThreadsCpuIdled) {
  ChainLink link = late_open().chain.at(0);
  link.what = "preempted";
  link.ns = 12'000'000;
  link.ran.add({0, 0, "swapper/1"}, 11'000'000);
  EXPECT_EQ(link_text(link),
            "jbd2/vda-8[203] held it up: was preempted for 12.0ms in submit_bio_wait, "
            "by unknown 12.0ms");
}

TEST(LinkText, NamesTheLimitThatThrottledTheThreadForAPartOfItsTime) {
  ChainLink link = late_open().chain.at(0);
  link.what = "waited";
  link.ns = 800'000'000;
  link.during_ns = 1'000'000'000;
  link.ledger = Breakdown{{ShareKind::throttled, 200'000'000}, {ShareKind::sleeping, 800'000'000}};
  EXPECT_TRUE(link_text(link).ends_with("; was throttled for 200ms")) << link_text(link);
  link.throttle = Throttle{"/shop/api", 1, 20'000'000, 100'000'000};
  EXPECT_TRUE(link_text(link).ends_with(
      "; was throttled for 200ms, by cgroup /shop/api (20.0ms of each 100ms)"))
      << link_text(link);
}

TEST(StopText, NamesTheTracer) {
  Wait wait;
  wait.means = "traced";
  EXPECT_EQ(stop_text(wait), "stopped by a tracer");
  wait.tracer = ThreadName{0, 123, "g\ndb"};
  EXPECT_EQ(stop_text(wait), "stopped by a tracer, g\\ndb[123]");
}

}  // namespace
}  // namespace overdue

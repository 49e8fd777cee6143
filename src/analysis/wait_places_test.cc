#include "analysis/wait_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "analysis/records_fixture.h"

namespace overdue {
namespace {

using testing::SizeIs;

constexpr u64 here = 11, there = 12;  // places of two stacks, as the kernel numbers them

sched_wait wait_in(u64 place, u64 out_ns, u64 wake_ns, u64 in_ns) {
  sched_wait wait = wait_of(7, out_ns, wake_ns, in_ns, 8);
  wait.place = place;
  return wait;
}

/// Short waits in the call of thread 7 that begins at 1000.
wait_places short_waits() {
  wait_places shorter{};
  name_thread(shorter.header, 7, "thread-7");
  shorter.header.time_ns = 9000;
  shorter.call_ns = 1000;
  return shorter;
}

/// The places of a call from 1000 to 9000.
class Places : public testing::Test {
 protected:
  Places() {
    fed_.look = [this](const RawStall& stall) {
      places_ = stall.places;
      for (const RawPlace& place : places_) out_ns_.push_back(place.longest->out_ns());
      woken_ = !stall.chain.empty();
    };
  }
  void end_call() { fed_.add(span_of(7, 1000, 9000)); }

  Fed fed_;
  std::vector<RawPlace> places_;  // `longest` is no longer valid
  std::vector<u64> out_ns_;       // begin of the longest wait in each place
  bool woken_ = false;
};

TEST_F(Places, AreThoseOfEqualStacks) {
  fed_.add(wait_in(here, 1000, 1300, 1310), {1, 2}).add(wait_in(there, 2000, 2900, 2910), {1, 3});
  fed_.add(wait_in(here, 3000, 3700, 3740), {1, 2}).add(wait_in(here, 4000, 4100, 4100), {1, 2});
  end_call();
  ASSERT_THAT(places_, SizeIs(2));
  EXPECT_EQ(places_[0].count, 3u);
  EXPECT_EQ(places_[0].ns, 1150u);
  EXPECT_EQ(places_[0].blocked_ns, 1100u);
  EXPECT_EQ(places_[0].longest_ns, 740u);
  EXPECT_EQ(out_ns_[0], 3000u) << "though the longest of all waits is elsewhere";
  EXPECT_EQ(places_[1].blocked_ns, 900u);
  EXPECT_TRUE(woken_);
}

TEST_F(Places, HaveTheWaitsThatWereTooShortForRecords) {
  fed_.add(wait_in(here, 1000, 1010, 1012), {1, 2}).add(wait_in(there, 2000, 2900, 2910), {1, 3});
  wait_places shorter = short_waits();
  shorter.places[0] = {here, 4000, 100, 15, 300, WAIT_SLEEPING};
  shorter.places[1] = {77, 500, 0, 500, 1, WAIT_SLEEPING};  // no record of this place
  fed_.add(shorter);
  end_call();
  ASSERT_THAT(places_, SizeIs(2));
  EXPECT_EQ(places_[0].count, 301u);
  EXPECT_EQ(places_[0].ns, 4012u);
  EXPECT_EQ(places_[0].blocked_ns, 3910u);
  EXPECT_EQ(places_[0].longest_ns, 15u);
  EXPECT_EQ(out_ns_[0], 1000u) << "the only one that was recorded";
}

TEST_F(Places, OfAnEarlierCallAreNotThisOnes) {
  fed_.add(wait_in(here, 1000, 1010, 1012), {1, 2});
  wait_places earlier = short_waits();
  earlier.call_ns = 500;
  earlier.places[0] = {here, 4000, 100, 15, 300, WAIT_SLEEPING};
  fed_.add(earlier);
  end_call();
  ASSERT_THAT(places_, SizeIs(1));
  EXPECT_EQ(places_[0].count, 1u);
}

TEST_F(Places, OfADamagedFileAreBlockedForNoLessThanNothing) {
  fed_.add(wait_in(here, 1000, 1010, 1012), {1, 2});
  wait_places shorter = short_waits();
  shorter.places[0] = {here, 100, 4000, 15, 300, WAIT_SLEEPING};
  fed_.add(shorter);
  end_call();
  ASSERT_THAT(places_, SizeIs(1));
  EXPECT_EQ(places_[0].blocked_ns, 10u);
}

}  // namespace
}  // namespace overdue

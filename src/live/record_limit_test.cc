#include "live/record_limit.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

using std::chrono::milliseconds;

TEST(RecordLimit, AsksForAsManyDoublingsAsThereIsTooMuch) {
  EXPECT_EQ(RecordLimit::doublings({.records = 1000}), 0);
  EXPECT_EQ(RecordLimit::doublings({.records = 1001}), 1);
  EXPECT_EQ(RecordLimit::doublings({.records = 2000}), 2);
  EXPECT_EQ(RecordLimit::doublings({.records = 1'000'000}), 3) << "a burst hides not everything";
}

TEST(RecordLimit, CountsLateOperationsFourTimesAndWhatWasLost) {
  EXPECT_EQ(RecordLimit::doublings({.records = 250, .late = 250}), 0);
  EXPECT_EQ(RecordLimit::doublings({.records = 251, .late = 251}), 1);
  EXPECT_EQ(RecordLimit::doublings({.records = 1, .lost = 1000}), 1);
}

TEST(RecordLimit, LeavesOutShortWaitsBeforeLateOperations) {
  RecordLimit limit;
  std::optional<Duration> threshold = milliseconds(1);
  limit.examine_less(3, threshold);
  EXPECT_EQ(limit.wait_part(), 1u);
  EXPECT_EQ(threshold, milliseconds(1));
  limit.examine_less(2, threshold);
  EXPECT_EQ(threshold, milliseconds(4));
  limit.examine_less(100, threshold);
  EXPECT_EQ(threshold, milliseconds(128)) << "the first that is not below the highest";
  std::optional<Duration> none;
  limit.examine_less(1, none);
  EXPECT_EQ(none, std::nullopt);
}

}  // namespace
}  // namespace overdue

#include "core/session_info.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

TEST(SessionInfo, WallTimesStayWithinWhatTheyCanSay) {
  SessionInfo info;
  info.start = KernelTime(Duration(1000));
  info.start_wall = WallTime(std::chrono::nanoseconds(500));
  const auto wall_ns = [&info](std::uint64_t time_ns) {
    return info.wall(KernelTime(Duration(time_ns))).time_since_epoch().count();
  };
  EXPECT_EQ(wall_ns(1001), 501);
  EXPECT_EQ(wall_ns(0), -500);
  info.start_wall = WallTime::max();
  EXPECT_EQ(wall_ns(1001), INT64_MAX);
  info.start_wall = WallTime::min();
  EXPECT_EQ(wall_ns(0), INT64_MIN);
}

}  // namespace
}  // namespace overdue

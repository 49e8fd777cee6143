#include "resolve/kept_perf_maps.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <map>

namespace overdue {
namespace {

using std::chrono::milliseconds;

class PerfMapsOf : public ::testing::Test {
 protected:
  PerfMap::File open(pid_t pid) {
    ++tries[pid];
    if (!has_map[pid]) return {};
    return {.fd = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), .owner = 7, .refused = {}};
  }
  static KernelTime at(int ms) { return KernelTime(milliseconds(ms)); }

  std::map<pid_t, bool> has_map;
  std::map<pid_t, int> tries;
  KeptPerfMaps maps{[this](pid_t pid) { return open(pid); }, 2};
};

TEST_F(PerfMapsOf, AProcessThatHasGoneAreThere) {
  has_map[5] = true;
  maps.heard_of(5, at(100));
  has_map[5] = false;
  const PerfMap::File file = maps.open(5);
  EXPECT_TRUE(file.fd);
  EXPECT_EQ(file.owner, 7u);
  EXPECT_TRUE(maps.open(5).fd) << "again";
  EXPECT_FALSE(maps.open(6).fd);
}

TEST_F(PerfMapsOf, AProgramThatWasLeftAreNot) {
  has_map[5] = true;
  maps.heard_of(5, at(100));
  has_map[5] = false;
  maps.forget(5);
  EXPECT_FALSE(maps.open(5).fd);
}

TEST_F(PerfMapsOf, AProcessAreLookedForUntilThereIsOne) {
  maps.heard_of(5, at(100));
  maps.heard_of(5, at(101));
  EXPECT_EQ(tries[5], 1) << "not at once again";
  has_map[5] = true;
  maps.heard_of(5, at(200));
  maps.heard_of(5, at(300));
  EXPECT_EQ(tries[5], 2);
}

TEST_F(PerfMapsOf, AProcessThatWritesItsMapLaterAreLookedForEverMoreRarely) {
  maps.heard_of(5, at(100));
  for (int ms = 100; ms < 10'000; ++ms) maps.look_again(at(ms));
  EXPECT_LE(tries[5], 11);
  has_map[5] = true;
  for (int ms = 10'000; ms < 15'000; ++ms) maps.look_again(at(ms));
  has_map[5] = false;
  EXPECT_TRUE(maps.open(5).fd);
  const int before = tries[5];
  maps.look_again(at(60'000));
  EXPECT_EQ(tries[5], before) << "it has one";
}

TEST_F(PerfMapsOf, AProcessWhoseStackIsToBeNamedAreLookedForAtOnce) {
  maps.heard_of(5, at(100));
  for (int ms = 100; ms < 10'000; ++ms) maps.look_again(at(ms));
  has_map[5] = has_map[6] = true;
  maps.wanted(5, at(10'000));
  maps.wanted(6, at(10'000));
  has_map[5] = false;
  EXPECT_TRUE(maps.open(5).fd);
  EXPECT_EQ(tries[6], 0) << "it has made no code";
}

TEST_F(PerfMapsOf, ManyProcessesAreClosedOldestFirst) {
  for (const pid_t pid : {5, 6, 7}) {
    has_map[pid] = true;
    maps.heard_of(pid, at(100));
    has_map[pid] = false;
  }
  EXPECT_FALSE(maps.open(5).fd);
  EXPECT_TRUE(maps.open(6).fd);
  EXPECT_TRUE(maps.open(7).fd);
}

}  // namespace
}  // namespace overdue

#include "live/bound_threads.h"

#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

/// A machine of four CPUs.
class BoundThreadsTest : public testing::Test {
 protected:
  /// CPU 0 is busy; `idle` is the time of each other CPU without work.
  void times(std::uint64_t all, std::uint64_t idle) {
    std::string text = "cpu  0 0 0 0 0 0 0 0 0 0\n";
    text += fmt::format("cpu0 {} 0 0 0 0 0 0 0 0 0\n", all);
    for (int cpu = 1; cpu < 4; ++cpu)
      text += fmt::format("cpu{} {} 0 0 {} 0 0 0 0 0 0\n", cpu, all - idle, idle);
    tree_.file("proc/stat", text + "intr 5 0\n");
  }
  void thread(std::uint32_t tid, std::string_view cpus) {
    tree_.file(fmt::format("proc/7/task/{}/status", tid),
               fmt::format("Name:\tapp\nCpus_allowed:\t1\nCpus_allowed_list:\t{}\n", cpus));
  }
  static OffcpuRow waited(std::uint32_t tid, std::uint64_t ms) {
    OffcpuRow row;
    row.pid = 7;
    row.tid = tid;
    row.threads = 1;
    row.wall_ns = 1'000'000'000;
    row.runqueue_ns = row.preempted_ns = ms * 500'000;
    return row;
  }

  FakeTree tree_;
};

TEST_F(BoundThreadsTest, AreNamedWithTheIdleTimeOfTheOtherCpus) {
  times(1000, 100);
  thread(7, "0");
  thread(8, "0-3");
  thread(9, "0,2");
  thread(10, "0");
  const BoundThreads bound(tree_ / "proc");
  times(2000, 700);
  const auto found = bound.among(
      {waited(7, 500), waited(8, 500), waited(9, 300), waited(10, 50), waited(11, 500)});
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].id, 7u);
  EXPECT_EQ(found[0].words, "bound to CPU 0, while the other 3 CPUs were idle 60 % of the time");
  EXPECT_EQ(found[1].id, 9u);
  EXPECT_EQ(found[1].words, "bound to CPU 0,2, while the other 2 CPUs were idle 60 % of the time");
}

TEST_F(BoundThreadsTest, AreNoCauseWhereTheOtherCpusAreBusy) {
  times(1000, 900);
  thread(7, "0");
  const BoundThreads bound(tree_ / "proc");
  times(2000, 1100);
  EXPECT_TRUE(bound.among({waited(7, 500)}).empty());
}

TEST_F(BoundThreadsTest, DamagedFilesNameNone) {
  tree_.file("proc/stat", "cpu0 1\ncpu1 x y z a b c d e\n");
  thread(7, "7-");
  const BoundThreads bound(tree_ / "proc");
  EXPECT_TRUE(bound.among({waited(7, 500)}).empty());
}

}  // namespace
}  // namespace overdue

#include "live/priorities.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "target/fake_tree.h"

namespace overdue {
namespace {

constexpr int deadline = 6;  // SCHED_DEADLINE of linux/sched.h

/// A machine with cgroups of version 2 that have weights. Thread 7 waits for a CPU, which thread 9
/// has.
class LowerPriorities : public testing::Test {
 protected:
  LowerPriorities() {
    tree_.file("proc/self/mountinfo",
               fmt::format("33 31 0:30 / {}/cg rw - cgroup2 cgroup2 rw\n", tree_.root().native()));
    tree_.file("proc/self/cgroup", "0::/\n");
    tree_.file("cg/batch/cpu.weight", "1\n");
    tree_.file("cg/batch/a/memory.max", "max\n");  // has no weight of its own
    tree_.file("cg/web/cpu.weight", "100\n");
    tree_.file("cg/cgroup.controllers", "cpu\n");
    thread(7, "/", 0);
    thread(9, "/", 0);
  }

  void thread(std::uint32_t tid, std::string_view cgroup, int nice, int policy = 0,
              int real_time = 0) {
    std::string text = fmt::format("{} (a) b) R", tid);
    for (int field = 4; field <= 52; ++field)
      text += fmt::format(" {}", field == 19   ? nice
                                 : field == 40 ? real_time
                                 : field == 41 ? policy
                                               : 1000 + field);
    tree_.file(fmt::format("proc/{}/stat", tid), text + "\n");
    tree_.file(fmt::format("proc/{}/cgroup", tid), fmt::format("0::{}\n", cgroup));
  }
  std::string words() {
    OffcpuRow row;
    row.pid = row.tid = 7;
    row.threads = 1;
    row.wall_ns = 1'000'000'000;
    row.preempted_ns = 400'000'000;
    row.runqueue_ns = 300'000'000;
    row.displacers = {{.tid = 9, .comm = "hog", .count = 100, .total_ns = 400'000'000}};
    row.behind = {{.tid = 9, .comm = "hog", .count = 10, .total_ns = 200'000'000},
                  {.tid = 11, .comm = "short", .count = 10, .total_ns = 100'000'000}};
    const auto remarks = lower_priorities({row}, tree_ / "proc");
    if (remarks.empty()) return {};
    EXPECT_EQ(remarks.size(), 1u);
    EXPECT_EQ(remarks[0].id, 7u);
    return remarks[0].words;
  }

  FakeTree tree_;
};

TEST_F(LowerPriorities, EqualThreadsHaveNone) {
  EXPECT_EQ(words(), "");
}

TEST_F(LowerPriorities, OfNiceThreads) {
  thread(7, "/", 19);
  EXPECT_EQ(words(), "nice 19, hog has 0");
  thread(9, "/", 19);
  EXPECT_EQ(words(), "");
  thread(7, "/", 0, 5);
  thread(9, "/", 0);
  EXPECT_EQ(words(), "scheduled as SCHED_IDLE, hog is not");
}

TEST_F(LowerPriorities, BesideRealTimeThreads) {
  thread(9, "/batch", 0, 1, 50);
  EXPECT_EQ(words(), "hog has SCHED_FIFO, priority 50");
  thread(7, "/", 0, 1, 60);
  EXPECT_EQ(words(), "");
  thread(7, "/", 19);
  thread(9, "/", 0, deadline);
  EXPECT_EQ(words(), "") << "a deadline has no nice value";
}

TEST_F(LowerPriorities, OfCgroupsWithLessWeight) {
  thread(7, "/batch/a", 0);
  thread(9, "/web", 19);
  EXPECT_EQ(words(), "cgroup /batch has cpu.weight 1, /web of hog has 100");
  thread(7, "/web", 19);
  thread(9, "/batch", 0);
  EXPECT_EQ(words(), "") << "the nice value counts within a cgroup only";
  thread(7, "/batch", 19);
  thread(9, "/batch/a", 0);
  EXPECT_EQ(words(), "nice 19, hog has 0") << "one cgroup for the scheduler";
}

TEST_F(LowerPriorities, OfSessionsCountAsAWhole) {
  tree_.file("proc/sys/kernel/sched_autogroup_enabled", "1\n");
  tree_.file("proc/7/autogroup", "/autogroup-3 nice 0\n");
  tree_.file("proc/9/autogroup", "/autogroup-4 nice 0\n");
  thread(7, "/", 19);
  EXPECT_EQ(words(), "");
  tree_.file("proc/7/autogroup", "/autogroup-3 nice 10\n");
  EXPECT_EQ(words(), "the session (autogroup) has nice 10, that of hog 0");
  tree_.file("proc/7/autogroup", "/autogroup-4 nice 0\n");
  EXPECT_EQ(words(), "nice 19, hog has 0");
}

TEST_F(LowerPriorities, DamagedFilesNameNone) {
  tree_.file("proc/7/stat", "7 (a");
  EXPECT_EQ(words(), "");
  thread(7, "/", 19);
  tree_.file("proc/9/stat", "");
  EXPECT_EQ(words(), "");
}

}  // namespace
}  // namespace overdue

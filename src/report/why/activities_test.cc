#include "report/why/activities.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace overdue::activities_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

Root behind(std::string comm, std::string activity) {
  Root root;
  root.thread = ThreadName{.pid = 10, .tid = 12, .comm = std::move(comm)};
  root.activity = std::move(activity);
  return root;
}

TEST(Activities, ThatTookMostOfTheTimeCountNotTheLongestWait) {
  Activities all;
  all.add(behind("VM Thread", "was preempted by hog[3]"), 40 * ms);
  for (int n = 0; n < 6; ++n) all.add(behind("VM Thread", "collected garbage in mark"), 10 * ms);
  EXPECT_EQ(all.most().root.activity, "collected garbage in mark");
  EXPECT_EQ(all.most().ns, 60 * ms);
}

TEST(Activities, InManyPlacesHaveNone) {
  Activities all;
  all.add(behind("VM Thread", "was preempted by hog[3]"), 20 * ms);
  all.add(behind("VM Thread", "was preempted by other[4]"), 20 * ms);
  for (const char* place : {"mark", "sweep", "move"})
    all.add(behind("VM Thread", std::string("collected garbage in ") + place), 20 * ms);
  EXPECT_EQ(all.most().root.activity, "collected garbage");
  EXPECT_EQ(all.most().ns, 60 * ms);
}

TEST(Activities, OfThreadsWithNumbersInTheirNamesAreAddedUp) {
  Activities all;
  all.add(behind("worker-1", "ran in crunch ← main"), 20 * ms);
  all.add(behind("worker-2", "ran in crunch ← main"), 20 * ms);
  all.add(behind("reader", "slept"), 30 * ms);
  EXPECT_EQ(all.most().root.thread->comm, "worker-1");
  EXPECT_EQ(all.most().ns, 40 * ms);
}

TEST(Activities, AreEmptyWithoutAWait) {
  EXPECT_TRUE(Activities().empty());
  EXPECT_FALSE(Activities().most().root.thread);
}

}  // namespace
}  // namespace overdue::activities_test

#include "core/breakdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names_of(const std::vector<Share>& shares) {
  std::vector<std::string> names;
  for (const Share& share : shares) names.push_back(share.name);
  return names;
}

TEST(Breakdown, AddsUpWithWhatIsUnexplained) {
  const Breakdown parts(
      {{ShareKind::oncpu, 10}, {ShareKind::sleeping, 60}, {ShareKind::uninterruptible, 20}}, 7);
  EXPECT_EQ(parts.explained_ns(), 90u);
  EXPECT_EQ(parts.total_ns(), 97u);
  EXPECT_EQ(parts.blocked_ns(), 80u);
  EXPECT_EQ(parts.active_ns(), 10u);
  EXPECT_EQ(parts.ns(ShareKind::runqueue), 0u);
}

TEST(Breakdown, SumsSourcesOfOneKind) {
  Breakdown parts;
  parts.count(ShareKind::thread, 7, "cc1", 30);
  parts.count(ShareKind::thread, 7, "cc1", 50);
  parts.count(ShareKind::thread, 8, "ld", 40);
  parts.count(ShareKind::irq, 7, "nvme0q1", 5);
  EXPECT_EQ(parts.ns(ShareKind::thread), 120u);
  ASSERT_EQ(parts.shares().size(), 3u);
  const Share& cc1 = parts.of(ShareKind::thread, 7, "cc1");
  EXPECT_EQ(cc1.ns, 80u);
  EXPECT_EQ(cc1.count, 2u);
  EXPECT_EQ(cc1.max_ns, 50u);
  EXPECT_THAT(names_of(parts.longest_first()), ElementsAre("cc1", "ld", "nvme0q1"));
}

TEST(Breakdown, KeepsSharesInOrderOfKindWhateverCameFirst) {
  Breakdown parts;
  parts.of(ShareKind::way_back, 0, "last").ns = 1;
  parts.of(ShareKind::slack, 0, "first").ns = 1;
  parts.of(ShareKind::runqueue, 9, "second").ns = 1;
  EXPECT_THAT(names_of(parts.shares()), ElementsAre("first", "second", "last"));
  EXPECT_THAT(names_of(parts.longest_first()), ElementsAre("first", "second", "last"))
      << "equal shares are in this order, too";
}

TEST(Breakdown, MergesShareByShare) {
  Breakdown parts{{ShareKind::oncpu, 10}};
  parts.of(ShareKind::thread, 7, "cc1").priority = 120;
  Breakdown more({{ShareKind::oncpu, 5}, {ShareKind::irq, 3}}, 2);
  more.count(ShareKind::thread, 7, "cc1", 4);
  more.of(ShareKind::thread, 7, "cc1").priority = 100;
  parts.merge(more);
  EXPECT_EQ(parts.ns(ShareKind::oncpu), 15u);
  EXPECT_EQ(parts.ns(ShareKind::irq), 3u);
  EXPECT_EQ(parts.unexplained_ns, 2u);
  EXPECT_EQ(parts.of(ShareKind::thread, 7, "cc1").max_ns, 4u);
  EXPECT_EQ(parts.of(ShareKind::thread, 7, "cc1").priority, 100);
  EXPECT_EQ(parts.total_ns(), 24u);
}

}  // namespace
}  // namespace overdue

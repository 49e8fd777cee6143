#include "top/list.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using testing::ElementsAre;

TopRow row_of(std::string name, std::uint64_t late_ns, std::uint64_t oncpu_ns = 0,
              std::uint64_t runqueue_ns = 0) {
  TopRow row{.key = name, .name = std::move(name), .sums = {}, .late_ns = late_ns};
  row.sums.oncpu_ns = oncpu_ns;
  row.sums.runqueue_ns = runqueue_ns;
  return row;
}

std::vector<std::string> names_of(const TopList& list) {
  std::vector<std::string> names;
  for (const TopRow& row : list.rows()) names.push_back(row.name);
  return names;
}

TopList three_rows() {
  TopList list;
  list.show({row_of("b", 10, 1, 30), row_of("c", 30, 2, 10), row_of("a", 20, 3, 20)});
  return list;
}

TEST(TopList, HasTheLargestFigureFirst) {
  TopList list = three_rows();
  EXPECT_THAT(names_of(list), ElementsAre("c", "a", "b"));
  list.sort_by(TopSort::oncpu);
  EXPECT_THAT(names_of(list), ElementsAre("a", "c", "b"));
  list.sort_by(TopSort::runqueue);
  EXPECT_THAT(names_of(list), ElementsAre("b", "a", "c"));
  list.sort_by(TopSort::name);
  EXPECT_THAT(names_of(list), ElementsAre("a", "b", "c"));
}

TEST(TopList, OrdersRowsThatAreNotLateByTheirTimeOnTheCpu) {
  TopList list;
  list.show({row_of("idle", 0), row_of("busy", 0, 5), row_of("late", 1)});
  EXPECT_THAT(names_of(list), ElementsAre("late", "busy", "idle"));
}

TEST(TopList, KeepsTheChosenRowWhenTheOrderChanges) {
  TopList list = three_rows();
  list.move(1);
  EXPECT_EQ(list.selection()->name, "a");
  list.show({row_of("a", 99), row_of("b", 10), row_of("c", 30)});
  EXPECT_EQ(list.selection()->name, "a");
  EXPECT_EQ(list.selected(), 0U);
}

TEST(TopList, SelectsTheFirstRowUntilOneIsChosen) {
  TopList list = three_rows();
  EXPECT_EQ(list.selection()->name, "c");
  list.show({row_of("a", 99), row_of("b", 10), row_of("c", 30)});
  EXPECT_EQ(list.selection()->name, "a");
}

TEST(TopList, SelectsAnotherRowIfTheChosenOneIsGone) {
  TopList list = three_rows();
  list.move_to_last();
  list.show({row_of("c", 30)});
  EXPECT_EQ(list.selection()->name, "c");
  list.show({});
  EXPECT_EQ(list.selection(), nullptr);
  list.move(1);
  EXPECT_EQ(list.selection(), nullptr);
}

TEST(TopList, FiltersByNameAndCauseInWhateverCase) {
  TopList list;
  TopRow behind = row_of("app", 5);
  behind.cause = std::make_shared<const WhyCause>(WhyCause{.cause = "futex behind Holder[12]"});
  list.show({behind, row_of("HOLDER", 3), row_of("other", 9)});
  list.filter("holder");
  EXPECT_THAT(names_of(list), ElementsAre("app", "HOLDER"));
  EXPECT_EQ(list.all(), 3U);
  list.filter("");
  EXPECT_THAT(names_of(list), ElementsAre("other", "app", "HOLDER"));
}

TEST(TopList, StopsAtBothEnds) {
  TopList list = three_rows();
  list.move(-5);
  EXPECT_EQ(list.selected(), 0U);
  list.move(50);
  EXPECT_EQ(list.selected(), 2U);
  list.move_to_first();
  EXPECT_EQ(list.selected(), 0U);
}

TEST(TopList, ScrollsToTheSelection) {
  TopList list;
  std::vector<TopRow> rows;
  for (std::uint64_t i = 0; i < 20; ++i) rows.push_back(row_of("row" + std::to_string(i), 100 - i));
  list.show(std::move(rows));
  list.move(9);
  list.fit(5);
  EXPECT_EQ(list.first(), 5U);
  list.move(-6);
  list.fit(5);
  EXPECT_EQ(list.first(), 3U);
  list.fit(30);
  EXPECT_EQ(list.first(), 0U);
}

}  // namespace
}  // namespace overdue

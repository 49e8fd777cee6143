#include "report/flame/changes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "flame/folded.h"

namespace overdue::changes_test {
namespace {

StackTree compared(std::string_view before, std::string_view after) {
  StackTree tree;
  FoldedReader earlier(
      [&](const FoldedStack& stack) { tree.add_before(stack.frames, stack.weight); });
  earlier.feed(before);
  earlier.finish();
  FoldedReader later([&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
  later.feed(after);
  later.finish();
  return tree;
}

TEST(FlameChanges, SortsByTheChangeOfTheShare) {
  const FlameChanges changes =
      flame_changes(compared("t;main;a 50\nt;main;b 50\n", "t;main;a 20\nt;main;b 10\nt;c 70"), 0);
  ASSERT_EQ(changes.functions.size(), 4);
  EXPECT_EQ(changes.functions[0].name, "c");
  EXPECT_DOUBLE_EQ(changes.functions[0].change, 0.7);
  EXPECT_EQ(changes.functions[0].before.all, 0);
  EXPECT_EQ(changes.functions[1].name, "main");
  EXPECT_DOUBLE_EQ(changes.functions[1].change, -0.7);
  EXPECT_DOUBLE_EQ(changes.functions[1].self_change, 0);
  EXPECT_EQ(changes.functions[2].name, "b");
  EXPECT_DOUBLE_EQ(changes.functions[2].change, -0.4);
  EXPECT_EQ(changes.functions[3].name, "a");
  EXPECT_DOUBLE_EQ(changes.functions[3].self_change, -0.3);
}

TEST(FlameChanges, LeavesOutWhatHasNotMoved) {
  const FlameChanges changes = flame_changes(compared("t;a 1\nt;b 1", "t;a 7\nt;b 7"), 0);
  EXPECT_TRUE(changes.functions.empty());
  EXPECT_NE(to_text(changes).find("no function's share has moved"), std::string::npos);
}

TEST(FlameChanges, ThreadsAreNoFunctions) {
  EXPECT_TRUE(flame_changes(compared("t;a 1\nu;a 3", "t;a 3\nu;a 1"), 0).functions.empty());
}

TEST(FlameChanges, RecursionCountsOnce) {
  const FlameChanges changes =
      flame_changes(compared("t;x 10", "t;f;g;f;f 4\nt;f;h 3\nt;x;f 1\nt;x 2"), 0);
  const auto f = std::ranges::find(changes.functions, "f", &FunctionChange::name);
  ASSERT_NE(f, changes.functions.end());
  EXPECT_EQ(f->after.all, 8);
  EXPECT_EQ(f->after.self, 5);
}

TEST(FlameChanges, KindsAreApart) {
  const FlameChanges changes = flame_changes(compared("t;read 2", "t;read 1\nt;read_[s] 1"), 0);
  ASSERT_EQ(changes.functions.size(), 2);
  EXPECT_NE(changes.functions[0].kind, changes.functions[1].kind);
  EXPECT_NE(to_text(changes).find("read (system call)"), std::string::npos);
}

TEST(FlameChanges, TopCountsTheRest) {
  const StackTree tree = compared("t;a 1\nt;b 2\nt;c 3", "t;a 3\nt;b 2\nt;c 1");
  EXPECT_EQ(flame_changes(tree, 1).functions.size(), 1);
  EXPECT_EQ(flame_changes(tree, 1).more, 1);
  EXPECT_EQ(flame_changes(tree, 2).more, 0);
}

TEST(FlameChanges, TextShowsSharesAndPoints) {
  FlameChanges changes = flame_changes(compared("t;a;b 3\nt;a 1", "t;a;b 1\nt;a 3"), 0);
  changes.files = "new\x1b";
  changes.compared_with = "old";
  changes.receipt = {"4 stacks read"};
  EXPECT_EQ(to_text(changes), "overdue " OVERDUE_VERSION
                              " flame: new\\x1b compared with old\n"
                              "4 samples; before: 4 samples\n\n"
                              "  BEFORE   AFTER   CHANGE     SELF  FUNCTION\n"
                              "   75.0%   25.0%   -50.00   -50.00  b\n"
                              "  100.0%  100.0%    +0.00   +50.00  a\n\n"
                              "4 stacks read\n");
}

}  // namespace
}  // namespace overdue::changes_test

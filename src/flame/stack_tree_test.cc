#include "flame/stack_tree.h"

#include <algorithm>
#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using testing::ElementsAre;

std::vector<FoldedFrame> frames(std::initializer_list<const char*> names) {
  std::vector<FoldedFrame> result;
  for (const char* name : names)
    result.push_back({name, result.empty() ? FrameKind::thread : FrameKind::user});
  return result;
}

std::vector<std::string> child_names(const StackTree& tree, StackTree::Id id) {
  std::vector<std::string> result;
  for (const StackTree::Id child : tree.children(id)) result.emplace_back(tree.name(child));
  return result;
}

/// The weight of each node is the sum of its children's weights and its own.
void expect_consistent(const StackTree& tree) {
  for (StackTree::Id id = 0; id < tree.size(); ++id) {
    std::uint64_t sum = tree.node(id).self;
    for (const StackTree::Id child : tree.children(id)) sum += tree.node(child).weight;
    EXPECT_EQ(sum, tree.node(id).weight) << tree.name(id);
  }
}

TEST(StackTree, MergesWhatBeginsAlike) {
  StackTree tree;
  tree.add(frames({"t", "main", "read"}), 5);
  tree.add(frames({"t", "main", "write"}), 7, 3);
  tree.add(frames({"t", "main"}), 1);
  tree.add(frames({"other", "main"}), 2);
  EXPECT_EQ(tree.total(), 15u);
  EXPECT_EQ(tree.size(), 7u);  // the root, t, main, read, write; other, main
  const StackTree::Id t = tree.children(StackTree::root)[1];
  const StackTree::Id main = tree.children(t)[0];
  EXPECT_EQ(tree.node(main).weight, 13u);
  EXPECT_EQ(tree.node(main).self, 1u);
  EXPECT_EQ(tree.node(main).count, 5u);
  EXPECT_EQ(tree.own_count(main), 1u);
  EXPECT_EQ(tree.node(main).longest, 1u);
  EXPECT_THAT(child_names(tree, main), ElementsAre("read", "write"));
  expect_consistent(tree);
}

TEST(StackTree, KeepsKindsApart) {
  StackTree tree;
  const FoldedFrame thread{"t", FrameKind::thread};
  tree.add(std::vector{thread, FoldedFrame{"read", FrameKind::syscall}}, 1);
  tree.add(std::vector{thread, FoldedFrame{"read", FrameKind::user}}, 1);
  EXPECT_EQ(tree.children(tree.children(StackTree::root)[0]).size(), 2u);
}

TEST(StackTree, DoesNotDependOnTheOrderOfItsStacks) {
  std::mt19937 random(7);
  std::vector<FoldedStack> stacks;
  for (int i = 0; i < 200; ++i) {
    FoldedStack stack{.frames = {}, .weight = random() % 100 + 1};
    for (auto depth = random() % 6 + 1; depth > 0; --depth)
      stack.frames.push_back({std::string(1, static_cast<char>('a' + random() % 4)),
                              static_cast<FrameKind>(random() % frame_kinds)});
    stacks.push_back(stack);
  }
  StackTree one, two;
  for (const FoldedStack& stack : stacks) one.add(stack.frames, stack.weight);
  std::ranges::shuffle(stacks, random);
  for (const FoldedStack& stack : stacks) two.add(stack.frames, stack.weight);
  EXPECT_EQ(one.stacks(), two.stacks());
  expect_consistent(one);
}

TEST(StackTree, StaysWithinItsNodesAndKeepsTheWeight) {
  constexpr std::size_t most = 50;
  StackTree tree(WeightUnit::samples, {.nodes = most});
  for (int thread = 0; thread < 40; ++thread)
    for (int function = 0; function < 40; ++function)
      tree.add(frames({("t" + std::to_string(thread)).c_str(),
                       ("f" + std::to_string(function)).c_str(), "leaf"}),
               3);
  EXPECT_LE(tree.size(), most);
  EXPECT_EQ(tree.total(), 3u * 40 * 40);
  EXPECT_GT(tree.merged().stacks, 0u);
  EXPECT_EQ(tree.merged().weight, 3 * tree.merged().stacks);
  expect_consistent(tree);
  const std::vector<std::string> threads = child_names(tree, StackTree::root);
  EXPECT_EQ(threads.back(), "(other)") << "threads that found no room";
  EXPECT_EQ(child_names(tree, tree.children(StackTree::root)[0]).back(), "(other)");
}

TEST(StackTree, StaysWithinItsNames) {
  StackTree tree(WeightUnit::samples, {.name_bytes = 8, .all_name_bytes = 100});
  tree.add(frames({"t", "a function of long name"}), 1);
  EXPECT_THAT(child_names(tree, tree.children(StackTree::root)[0]), ElementsAre("a functi"));
  EXPECT_EQ(tree.merged().cut_names, 1u);
  for (int i = 0; i < 100; ++i) tree.add(frames({"t", ("f" + std::to_string(i)).c_str()}), 1);
  EXPECT_GT(tree.merged().stacks, 0u);
  EXPECT_EQ(tree.total(), 101u);
  expect_consistent(tree);
}

TEST(StackTree, CutsNamesBetweenCharacters) {
  StackTree tree(WeightUnit::samples, {.name_bytes = 4});
  tree.add(frames({"abc\xc3\xa9"}), 1);
  EXPECT_THAT(child_names(tree, StackTree::root), ElementsAre("abc"));
}

TEST(StackTree, CutsDeepStacks) {
  StackTree tree(WeightUnit::samples, {.depth = 3});
  tree.add(frames({"t", "a", "b", "c", "d"}), 4);
  tree.add(frames({"t", "a", "b"}), 1);
  EXPECT_EQ(tree.size(), 4u);
  EXPECT_EQ(tree.merged().deep, 1u);
  EXPECT_EQ(tree.total(), 5u);
}

TEST(StackTree, TakesOddStacks) {
  StackTree tree;
  tree.add({}, 1);
  tree.add(frames({"t", ""}), 1);
  tree.add(frames({"t", "nothing"}), 0);
  EXPECT_THAT(child_names(tree, StackTree::root), ElementsAre("[unknown]", "t"));
  EXPECT_THAT(child_names(tree, tree.children(StackTree::root)[1]), ElementsAre("[unknown]"));
  tree.add(frames({"t"}), std::numeric_limits<std::uint64_t>::max() - 2);
  tree.add(frames({"t"}), 1);
  EXPECT_EQ(tree.total(), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(tree.merged().refused, 1u);
}

TEST(FrameText, WeightsForPeople) {
  EXPECT_EQ(format_weight(1, WeightUnit::samples), "1 sample");
  EXPECT_EQ(format_weight(1234567, WeightUnit::samples), "1,234,567 samples");
  EXPECT_EQ(format_weight(1240, WeightUnit::microseconds), "1.24ms");
  EXPECT_EQ(format_weight(1023, WeightUnit::bytes), "1023 B");
  EXPECT_EQ(format_weight(1024 * 1024 - 1, WeightUnit::bytes), "1.00 MiB");
  EXPECT_EQ(format_weight(~std::uint64_t{0}, WeightUnit::bytes), "16.0 EiB");
  EXPECT_NE(format_weight(~std::uint64_t{0}, WeightUnit::microseconds), "");
  EXPECT_EQ(format_share(1, 3), "33.3%");
  EXPECT_EQ(format_share(1, 300), "0.33%");
  EXPECT_EQ(format_share(0, 0), "0.00%");
}

}  // namespace
}  // namespace overdue

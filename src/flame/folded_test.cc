#include "flame/folded.h"

#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

std::vector<FoldedStack> read(std::string_view text, std::size_t piece = 1 << 20) {
  std::vector<FoldedStack> stacks;
  FoldedReader reader([&](const FoldedStack& stack) { stacks.push_back(stack); });
  for (std::size_t at = 0; at < text.size(); at += piece) reader.feed(text.substr(at, piece));
  reader.finish();
  return stacks;
}

TEST(Folded, IsWhatOtherToolsWriteAndRead) {
  StackTree tree;
  const std::vector<FoldedFrame> base{{"redis-server", FrameKind::thread},
                                      {"main", FrameKind::user}};
  std::vector<FoldedFrame> stack = base;
  stack.push_back({"write", FrameKind::syscall});
  stack.push_back({"vfs_write", FrameKind::kernel});
  tree.add(stack, 12);
  stack = base;
  stack.push_back({"0x7f01", FrameKind::unknown});
  tree.add(stack, 3);
  std::string text;
  append_folded(text, tree);
  EXPECT_EQ(text,
            "redis-server;main;0x7f01 3\n"
            "redis-server;main;write_[s];vfs_write_[k] 12\n");
  text.clear();
  append_folded(text, tree, false);
  EXPECT_EQ(text,
            "redis-server;main;0x7f01 3\n"
            "redis-server;main;write;vfs_write 12\n");
}

TEST(Folded, KindsOfFramesWithoutAndWithMarks) {
  const std::vector<FoldedStack> stacks =
      read("swapper;[unknown];f;g_[k];h_[s];i_[o];j_[j];0xff;0xfunction;[libc.so.6];l_[x] 1\n");
  ASSERT_EQ(stacks.size(), 1u);
  using enum FrameKind;
  EXPECT_EQ(stacks[0].frames, (std::vector<FoldedFrame>{{"swapper", thread},
                                                        {"[unknown]", unknown},
                                                        {"f", user},
                                                        {"g", kernel},
                                                        {"h", syscall},
                                                        {"i", waiting},
                                                        {"j_[j]", user},
                                                        {"0xff", unknown},
                                                        {"0xfunction", user},
                                                        {"[libc.so.6]", user},
                                                        {"l", unknown}}));
}

TEST(Folded, EscapesOnlyWhatHasTo) {
  const auto folded = [](const char* name) {
    return folded_frame({name, FrameKind::user}, false, true);
  };
  EXPECT_EQ(folded("std::map<int, a b>::at(int) const"), "std::map<int, a b>::at(int) const");
  EXPECT_EQ(folded("App\\Name"), "App\\Name");
  EXPECT_EQ(folded("a;b\nc\\x3b"), "a\\x3bb\\x0ac\\x5cx3b");
  EXPECT_EQ(folded("f_[k]"), "f_[k\\x5d");
  EXPECT_EQ(folded("\xff\xe2\x80\xae"), "\\xff\\xe2\\x80\\xae");
  EXPECT_EQ(folded("[unknown]"), "[unknown]_[u]");
  EXPECT_EQ(parse_folded_frame("App\\name\\xZZ\\x4", false).name, "App\\name\\xZZ\\x4");
}

/// A name of pieces that are likely to cause errors.
std::string random_name(std::mt19937& random) {
  static const std::string pieces[] = {
      ";",    " ",         "\\",      "x3b",  "\\x41", "\n",   "\r",      "\t",    "_[k]",
      "_[s]", "]",         "_[",      "0x1f", "é",     "\xff", "a",       "main",  "\xe2\x80",
      "\x7f", "[unknown]", "(other)", "all",  "<b>",   "12",   {"\0", 1}, "\u202e"};
  std::string name;
  for (std::size_t count = random() % 4 + 1; count > 0; --count)
    name += pieces[random() % std::size(pieces)];
  return name;
}

TEST(Folded, AnyTreeComesBackAsItWas) {
  std::mt19937 random(3);
  for (int round = 0; round < 200; ++round) {
    StackTree tree;
    for (auto stacks = random() % 20 + 1; stacks > 0; --stacks) {
      std::vector<FoldedFrame> frames;
      for (auto depth = random() % 8 + 1; depth > 0; --depth)
        frames.push_back({random_name(random), static_cast<FrameKind>(random() % frame_kinds)});
      tree.add(frames, random() % 1000);
    }
    std::string text;
    append_folded(text, tree);
    EXPECT_EQ(read(text, random() % 30 + 1), tree.stacks()) << text;
  }
}

TEST(FoldedReader, NamesWhatIsNoStack) {
  std::vector<FoldedStack> stacks;
  FoldedReader reader([&](const FoldedStack& stack) { stacks.push_back(stack); });
  reader.feed(
      "a;b 1\n"
      "no_weight\n"
      "\n"
      "   \t\n"
      "a;b x1\n"
      "a;b 99999999999999999999999\n"
      "a;b -1\n"
      " 7\n"
      "crlf;c 2\r\n"
      "spaces at the end 3  \n"
      "half;c 2.5\n"
      "last 4");
  reader.finish();
  EXPECT_EQ(reader.stacks(), 5u);
  EXPECT_EQ(reader.malformed(), 5u);
  std::vector<std::uint64_t> lines, weights;
  for (const auto& problem : reader.problems()) lines.push_back(problem.line);
  for (const FoldedStack& stack : stacks) weights.push_back(stack.weight);
  EXPECT_THAT(lines, testing::ElementsAre(2, 5, 6, 7, 8));
  EXPECT_THAT(weights, testing::ElementsAre(1, 2, 3, 3, 4));
  EXPECT_EQ(stacks[2].frames[0].name, "spaces at the end");
}

TEST(FoldedReader, BoundsLinesFramesAndDiagnostics) {
  std::uint64_t frames = 0;
  FoldedReader reader([&](const FoldedStack& stack) { frames += stack.frames.size(); });
  const std::string long_line((1 << 20) + 1, 'a');
  for (int i = 0; i < 20; ++i) reader.feed(long_line + " 1\n");
  EXPECT_EQ(reader.malformed(), 20u);
  EXPECT_EQ(reader.problems().size(), 8u);
  reader.feed(std::string(1 << 19, ';') + " 1\n");
  EXPECT_EQ(reader.stacks(), 1u);
  EXPECT_EQ(frames, 4096u);
  reader.feed("still;fine 1\n");
  EXPECT_EQ(reader.stacks(), 2u);
}

TEST(FoldedReader, TakesAnyBytes) {
  std::mt19937 random(11);
  static constexpr std::string_view likely = ";; \n\\x_[k]09\xff\r\t.";
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (auto length = random() % 300; length > 0; --length)
      text += random() % 3 == 0 ? static_cast<char>(random()) : likely[random() % likely.size()];
    StackTree tree(WeightUnit::samples, {.nodes = 40});
    FoldedReader reader([&](const FoldedStack& stack) { tree.add(stack.frames, stack.weight); });
    for (std::size_t at = 0; at < text.size(); at += 7)
      reader.feed(std::string_view(text).substr(at, 7));
    reader.finish();
    EXPECT_EQ(read(text).size(), reader.stacks());
    EXPECT_LE(tree.size(), 40u);
  }
}

}  // namespace
}  // namespace overdue

#include "flame/stack_filter.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "flame/folded.h"

namespace overdue {
namespace {

FoldedStack stack_of(std::string_view line) {
  FoldedStack stack;
  FoldedReader reader([&](const FoldedStack& read) { stack = read; });
  reader.feed(line);
  reader.finish();
  return stack;
}

/// The names of the stack if the filter keeps it, joined by `;`; otherwise "-".
std::string kept(const StackFilterOptions& options, std::string_view line) {
  StackFilter filter(options);
  const FoldedStack stack = stack_of(line);
  const auto frames = filter.kept(stack);
  if (!frames) return "-";
  std::string text;
  for (const FoldedFrame& frame : *frames) text += (text.empty() ? "" : ";") + frame.name;
  return text;
}

TEST(StackFilter, KeepsAllWithoutOptions) {
  EXPECT_EQ(kept({}, "dw-22;main;run 5"), "dw-22;main;run");
}

TEST(StackFilter, GrepKeepsStacksWithAMatchInAnyFrame) {
  const StackFilterOptions grep{.grep = "^log(back|4j)"};
  EXPECT_EQ(kept(grep, "dw-22;main;logback.write;out 5"), "dw-22;main;logback.write;out");
  EXPECT_EQ(kept(grep, "dw-22;main;catalog4j 5"), "-");
  EXPECT_EQ(kept(grep, "log4j;main 5"), "log4j;main") << "the thread is a frame";
}

TEST(StackFilter, GrepSeesNamesWithoutMarks) {
  EXPECT_NE(kept({.grep = "^vfs_read$"}, "t;read_[s];vfs_read_[k] 5"), "-");
}

TEST(StackFilter, InvertKeepsTheOthers) {
  const StackFilterOptions others{.grep = "idle", .invert = true};
  EXPECT_EQ(kept(others, "t;main;idle 5"), "-");
  EXPECT_EQ(kept(others, "t;main 5"), "t;main");
}

TEST(StackFilter, AnEmptyExpressionMatchesEachFrame) {
  EXPECT_EQ(kept({.grep = ""}, "t;main 5"), "t;main");
  EXPECT_EQ(kept({.grep = "", .invert = true}, "t;main 5"), "-");
}

TEST(StackFilter, ThreadLooksAtTheFirstFrameOnly) {
  const StackFilterOptions thread{.thread = "Compiler"};
  EXPECT_EQ(kept(thread, "C2 CompilerThre;main 5"), "C2 CompilerThre;main");
  EXPECT_EQ(kept(thread, "java;Compiler::run 5"), "-");
}

TEST(StackFilter, BothExpressionsMustHold) {
  const StackFilterOptions both{.grep = "run", .thread = "^dw"};
  EXPECT_NE(kept(both, "dw-1;run 5"), "-");
  EXPECT_EQ(kept(both, "dw-1;stop 5"), "-");
  EXPECT_EQ(kept(both, "main;run 5"), "-");
}

TEST(StackFilter, CountsWhatItLeavesOut) {
  StackFilter filter({.grep = "a"});
  for (const char* const line : {"t;a 5", "t;b 7", "t;c 8"}) filter.kept(stack_of(line));
  EXPECT_EQ(filter.left_out(), 2);
  EXPECT_EQ(filter.left_out_weight(), 15);
}

TEST(StackFilter, WeightsLeftOutDoNotWrap) {
  StackFilter filter({.grep = "a"});
  for (int i = 0; i < 2; ++i) filter.kept(stack_of("t;b 18446744073709551615"));
  EXPECT_EQ(filter.left_out_weight(), 18446744073709551615U);
}

TEST(StackFilter, MergeDropsTheThreadOnce) {
  EXPECT_EQ(kept({.merge = true}, "dw-22;main;run 5"), "main;run");
  EXPECT_EQ(kept({.merge = true}, "main_[u];run 5"), "main;run") << "merged before";
  EXPECT_EQ(kept({.thread = "dw", .merge = true}, "dw-22;main 5"), "main");
  EXPECT_EQ(kept({.merge = true}, "dw-22 5"), "");
}

TEST(StackFilter, GroupsNumbersOfThreads) {
  EXPECT_EQ(kept({.group_digits = true}, "dw-22;f2 5"), "dw-*;f2");
  EXPECT_EQ(kept({.thread = "^dw-22$", .group_digits = true}, "dw-22;f 5"), "dw-*;f");
}

TEST(Regex, RefusesWhatIsInvalid) {
  for (const char* const pattern : {"(", "[a", "a{3,1}", "*("}) {
    try {
      Regex regex(pattern, "--grep");
      ADD_FAILURE() << pattern;
    } catch (const Error& error) {
      EXPECT_EQ(error.exit_status(), 2);
      EXPECT_NE(std::string(error.what()).find("for --grep: "), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(Regex(std::string("a\0b", 3), "--grep"), Error);
  EXPECT_THROW(Regex(std::string(5000, 'a'), "--grep"), Error);
}

TEST(Regex, RefusesBackReferences) {
  EXPECT_THROW(Regex(R"((a*)\1)", "--grep"), Error);
  EXPECT_THROW(Regex(R"([]\](a)\1)", "--grep"), Error);
  EXPECT_TRUE(Regex(R"([\1])", "--grep").matches("1")) << "a member of a bracket";
  EXPECT_TRUE(Regex(R"(\\1)", "--grep").matches(R"(\1)")) << "a backslash";
}

TEST(Regex, MatchesAnyBytes) {
  EXPECT_TRUE(Regex("b$", "--grep").matches(std::string_view("a\0b", 3)));
  EXPECT_TRUE(Regex("\xff", "--grep").matches("a\xff"));
  EXPECT_FALSE(Regex("b", "--grep").matches(std::string_view("ab", 1)));
  EXPECT_TRUE(Regex("^$", "--grep").matches({}));
}

TEST(Regex, LooksAtTheBytesThatATreeKeeps) {
  EXPECT_FALSE(Regex("b", "--grep").matches(std::string(4096, 'a') + "b"));
}

}  // namespace
}  // namespace overdue

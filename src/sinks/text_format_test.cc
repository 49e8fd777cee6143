#include "sinks/text_format.h"

#include <gtest/gtest.h>

#include "sinks/text_table.h"

namespace overdue {
namespace {

TEST(FoldedLines, HangBelowTheIndentationOfTheirLine) {
  EXPECT_EQ(folded_lines("short\n", 20), "short\n");
  EXPECT_EQ(folded_lines("  blocked  47.5ms  futex_wait, woken by holder[1]\n", 30),
            "  blocked  47.5ms  futex_wait,\n      woken by holder[1]\n");
  EXPECT_EQ(folded_lines("one two three\nfour\n", 9), "one two\n    three\nfour\n");
  EXPECT_EQ(folded_lines("a-word-that-is-too-long end", 8), "a-word-that-is-too-long\n    end");
  EXPECT_EQ(folded_lines("one two three", 0), "one two three");
}

TEST(FoldedLines, GiveColoursNoRoom) {
  EXPECT_EQ(folded_lines("\033[33mone\033[0m two", 7), "\033[33mone\033[0m two");
  EXPECT_EQ(folded_lines("\033[33mone\033[0m two", 6), "\033[33mone\033[0m\n   two");
}

TEST(PercentOf, HasOneDecimal) {
  EXPECT_EQ(percent_of(1, 3), "33.3");
  EXPECT_EQ(percent_of(4, 1), "400.0");
  EXPECT_EQ(percent_of(0, 5), "0.0");
  EXPECT_EQ(percent_of(5, 0), "-");
}

TargetInfo target(std::string kind, std::vector<std::string> values) {
  TargetInfo made;
  made.kind = std::move(kind);
  made.values = std::move(values);
  return made;
}

TEST(TargetText, IsShortAndHarmless) {
  EXPECT_EQ(target_text(target("command", {"sh", "-c", "echo hi; ls"})), "sh -c 'echo hi; ls'");
  EXPECT_EQ(target_text(target("command", {"a\x1b[2Jb", ""})), "a\\x1b[2Jb ''");
  EXPECT_EQ(target_text(target("all", {})), "all processes");
  TargetInfo pids = target("pid", {"12", "13"});
  pids.follows_children = false;
  pids.cpus = "0-1";
  EXPECT_EQ(target_text(pids), "pid 12, 13 on CPUs 0-1, children not followed");
  const TargetInfo long_command = target("command", {std::string(4096, 'x'), "y", "z"});
  EXPECT_LE(target_text(long_command).size(), 200u);
}

std::string drawn(const Histogram& histogram) {
  LatencyRow row;
  row.latency = histogram;
  std::string text;
  Output output(text);
  draw_histogram(output, RowFigures(row));
  output.flush();
  return text;
}

TEST(DrawHistogram, NeverTakesMoreThanTwentyLines) {
  for (unsigned bits = 0; bits < 64; ++bits) {
    Histogram histogram;
    histogram.add(std::uint64_t{1} << bits);
    for (unsigned from = 0; from <= bits; ++from) {
      Histogram wide = histogram;
      wide.add(std::uint64_t{1} << from, 1000);
      const std::string text = drawn(wide);
      const auto lines = std::count(text.begin(), text.end(), '\n');
      ASSERT_GE(lines, 1);
      ASSERT_LE(lines, 20) << text;
    }
  }
  EXPECT_EQ(drawn(Histogram{}), "");
}

TEST(DrawHistogram, ShowsASingleCallAmongMillions) {
  Histogram histogram;
  histogram.add(100, 5'000'000);
  histogram.add(130);
  EXPECT_EQ(drawn(histogram),
            "   100ns to 104ns  |########################################| 5,000,000\n"
            "   104ns to 108ns  |                                        | 0\n"
            "   108ns to 112ns  |                                        | 0\n"
            "   112ns to 116ns  |                                        | 0\n"
            "   116ns to 120ns  |                                        | 0\n"
            "   120ns to 124ns  |                                        | 0\n"
            "   124ns to 128ns  |                                        | 0\n"
            "   128ns to 136ns  |#                                       | 1\n");
}

}  // namespace
}  // namespace overdue

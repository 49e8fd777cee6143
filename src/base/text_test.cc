#include "base/text.h"

#include <array>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace overdue {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Printable, LeavesOrdinaryTextAlone) {
  EXPECT_EQ(printable("redis-server"), "redis-server");
  EXPECT_EQ(printable("Zürich 東京 🕒"), "Zürich 東京 🕒");
  EXPECT_EQ(printable(""), "");
}

TEST(Printable, DisarmsTheTerminal) {
  EXPECT_EQ(printable("a\nb"), "a\\nb");
  EXPECT_EQ(printable("\x1b[31mred"), "\\x1b[31mred");
  EXPECT_EQ(printable("\x7f\x01"), "\\x7f\\x01");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\xc2\\x9b31m");  // C1: a one-character escape sequence
  EXPECT_EQ(printable("\xe2\x80\xae"
                      "abc"),
            "\\xe2\\x80\\xaeabc");  // right-to-left override
}

TEST(Printable, ShowsWhatNobodySees) {
  EXPECT_EQ(printable("a\u200bb"), "a\\xe2\\x80\\x8bb");       // zero-width space
  EXPECT_EQ(printable("\u200f"), "\\xe2\\x80\\x8f");           // right-to-left mark
  EXPECT_EQ(printable("\u061c"), "\\xd8\\x9c");                // Arabic letter mark
  EXPECT_EQ(printable("\u2028"), "\\xe2\\x80\\xa8");           // line separator
  EXPECT_EQ(printable("\u2066"), "\\xe2\\x81\\xa6");           // isolate
  EXPECT_EQ(printable("\ufeff"), "\\xef\\xbb\\xbf");           // byte order mark
  EXPECT_EQ(printable("\u00ad"), "\\xc2\\xad");                // soft hyphen
  EXPECT_EQ(printable("\U000e0041"), "\\xf3\\xa0\\x81\\x81");  // tag
  EXPECT_EQ(printable("\u2010\u2027\u202f\u2070"), "\u2010\u2027\u202f\u2070");
}

TEST(Printable, NamesEveryByteThatIsNotUtf8) {
  EXPECT_EQ(printable("\xff\xfe"), "\\xff\\xfe");
  EXPECT_EQ(printable("caf\xe9"), "caf\\xe9");
  EXPECT_EQ(printable("\xe6\x9d"), "\\xe6\\x9d");           // cut short, as a 16-byte comm may be
  EXPECT_EQ(printable("\xc0\xaf"), "\\xc0\\xaf");           // overlong
  EXPECT_EQ(printable("\xe0\x80\xaf"), "\\xe0\\x80\\xaf");  // overlong
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");  // surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // beyond Unicode
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "\\xf5\\x80\\x80\\x80");
}

TEST(Printable, CannotBeForged) {
  EXPECT_EQ(printable("\\x1b"), "\\\\x1b");
  EXPECT_NE(printable("\\x1b"), printable("\x1b"));
}

TEST(FixedText, StopsAtTheFirstNul) {
  const char comm[4] = {'a', 'b', '\0', 'x'};
  const char full[4] = {'a', 'b', 'c', 'd'};
  EXPECT_EQ(fixed_text(comm), "ab");
  EXPECT_EQ(fixed_text(full), "abcd");
}

TEST(Glob, MatchesTheWholeText) {
  EXPECT_TRUE(glob_matches("redis*", "redis-server"));
  EXPECT_FALSE(glob_matches("redis", "redis-server"));
  EXPECT_TRUE(glob_matches("*", ""));
  EXPECT_TRUE(glob_matches("", ""));
  EXPECT_FALSE(glob_matches("", "a"));
  EXPECT_TRUE(glob_matches("a?c", "abc"));
  EXPECT_FALSE(glob_matches("a?c", "ac"));
  EXPECT_TRUE(glob_matches("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(glob_matches("*a*b", "ab-"));
}

TEST(Glob, KnowsSetsAndEscapes) {
  EXPECT_TRUE(glob_matches("jbd2/vd[a-c]-*", "jbd2/vdb-8"));
  EXPECT_FALSE(glob_matches("[!a-c]x", "bx"));
  EXPECT_TRUE(glob_matches("[^a-c]x", "dx"));
  EXPECT_TRUE(glob_matches("[]]", "]"));
  EXPECT_FALSE(glob_matches("[!]]", "]"));
  EXPECT_TRUE(glob_matches("[!]]", "a"));
  EXPECT_TRUE(glob_matches("[", "["));
  EXPECT_TRUE(glob_matches("[ab", "[ab"));
  EXPECT_TRUE(glob_matches("a\\*", "a*"));
  EXPECT_FALSE(glob_matches("a\\*", "ab"));
  EXPECT_TRUE(glob_matches("a\\", "a\\"));
}

TEST(Glob, IsNotExponential) {
  const std::string text(2000, 'a');
  EXPECT_FALSE(glob_matches("*a*a*a*a*a*a*a*a*a*a*b", text));
}

TEST(Nearest, SuggestsOnlyWhatIsNear) {
  constexpr std::array<std::string_view, 3> names{"openat", "read", "write"};
  EXPECT_EQ(nearest("opneat", names), "openat");
  EXPECT_EQ(nearest("raed", names), "");  // two edits in four letters: not worth a guess
  EXPECT_EQ(nearest("rea", names), "read");
  EXPECT_EQ(nearest("sendmsg", names), "");
  EXPECT_EQ(nearest("x", {}), "");
}

TEST(Suggestion, NamesWhatIsNearOrContainsTheWord) {
  constexpr std::string_view names[] = {"block", "lock", "gc", "python-gc", "pg-query", "pg-txn"};
  EXPECT_EQ(suggestion("bock", names), "; 'block' or 'lock'?");
  EXPECT_EQ(suggestion("bloock", names), "; 'block'?");
  EXPECT_EQ(suggestion("python", names), "; 'python-gc'?");
  EXPECT_EQ(suggestion("pg-", names), "; 'pg-query' or 'pg-txn'?");
  EXPECT_EQ(suggestion("unlike", names), "");
  EXPECT_EQ(suggestion("", names), "");
  EXPECT_EQ(suggestion("block", {}), "");
}

TEST(BytesText, HasTheUnitThatFits) {
  EXPECT_EQ(bytes_text(512), "512 B");
  EXPECT_EQ(bytes_text(4096), "4.0 KB");
  EXPECT_EQ(bytes_text(3u << 29), "1.5 GB");
  EXPECT_EQ(bytes_text(~std::uint64_t{0}), "16777216.0 TB");
}

TEST(UnescapeOctal, UndoesWholeEscapesOnly) {
  EXPECT_EQ(unescape_octal("odd\\040place"), "odd place");
  EXPECT_EQ(unescape_octal("at the end\\040"), "at the end ");
  EXPECT_EQ(unescape_octal("\\134040"), "\\040");
  EXPECT_EQ(unescape_octal("\\04"), "\\04");
  EXPECT_EQ(unescape_octal("\\048\\"), "\\048\\");
  EXPECT_EQ(unescape_octal("\\400"), "\\400");  // no byte
  EXPECT_EQ(unescape_octal("\\377"), "\377");
  EXPECT_EQ(unescape_octal(""), "");
}

TEST(Split, DropsEmptyParts) {
  EXPECT_THAT(split("a,b,,c,", ','), ElementsAre("a", "b", "c"));
  EXPECT_THAT(split("", ','), IsEmpty());
  EXPECT_THAT(split(",", ','), IsEmpty());
  EXPECT_THAT(split("abc", ','), ElementsAre("abc"));
}

TEST(Grouped, SeparatesThousands) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(UINT64_MAX), "18,446,744,073,709,551,615");
}

TEST(WithoutNumbers, ReplacesEachNumberByOneStar) {
  EXPECT_EQ(without_numbers("kworker/12:0-events"), "kworker/*:*-events");
  EXPECT_EQ(without_numbers("2024"), "*");
  EXPECT_EQ(without_numbers("main"), "main");
  EXPECT_EQ(without_numbers(""), "");
}

TEST(DisplayWidth, CountsCharacters) {
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("Zürich"), 6u);
}

}  // namespace
}  // namespace overdue

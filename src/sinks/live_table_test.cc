#include "sinks/live_table.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/text.h"

namespace overdue {
namespace {

TEST(ScreenLines, CountsALineThatIsWiderThanTheScreenTwice) {
  EXPECT_EQ(screen_lines("", 10), 0u);
  EXPECT_EQ(screen_lines("\n", 10), 1u);
  EXPECT_EQ(screen_lines("0123456789\n", 10), 1u);
  EXPECT_EQ(screen_lines("01234567890\n", 10), 2u);
  EXPECT_EQ(screen_lines("01234567890\nshort\nend", 10), 4u);
}

TEST(WhatFits, IsTheBeginningInWholeLines) {
  const ScreenSize screen{.columns = 10, .lines = 4};
  EXPECT_EQ(what_fits("1\n2\n3\n", screen), "1\n2\n3\n");
  EXPECT_EQ(what_fits("1\n2\n3\n4\n5\n", screen), "1\n2\n3\n");
  EXPECT_EQ(what_fits("1\n01234567890\n3\n", screen), "1\n01234567890\n");
  EXPECT_EQ(what_fits("0123456789012345678901234567890123456789\n", screen), "");
}

/// A terminal, and the text written to it.
class Terminal : public testing::Test {
 protected:
  Terminal() {
    int ours = -1, theirs = -1;
    const winsize size{.ws_row = 5, .ws_col = 20, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(openpty(&ours, &theirs, nullptr, nullptr, &size), 0);
    ours_ = Fd(ours);
    theirs_ = Fd(theirs);
  }
  void resize(unsigned short columns) const {
    const winsize size{.ws_row = 5, .ws_col = columns, .ws_xpixel = 0, .ws_ypixel = 0};
    EXPECT_EQ(ioctl(theirs_.get(), TIOCSWINSZ, &size), 0);
  }
  std::string written() const {
    char bytes[4096];
    const ssize_t size = read(ours_.get(), bytes, sizeof bytes);
    std::string text(bytes, size > 0 ? static_cast<std::size_t>(size) : 0);
    std::erase(text, '\r');  // the terminal turns \n into \r\n
    return text;
  }

  Fd ours_, theirs_;
};

TEST_F(Terminal, IsDrawnOverByTheLinesOfItsScreen) {
  Output output(theirs_.get());
  LiveTable table(output);
  table.draw("a title of a table, wider than the screen\n1\n");
  EXPECT_EQ(written(), "a title of a table, wider than the screen\n1\n");
  table.draw("short\n");
  EXPECT_EQ(written(), "\x1b[4A\x1b[Jshort\n");
}

TEST_F(Terminal, MayBecomeNarrower) {
  Output output(theirs_.get());
  LiveTable table(output);
  table.draw("0123456789abcdef\n");
  written();
  resize(8);
  table.draw("x\n");
  EXPECT_EQ(written(), "\x1b[2A\x1b[Jx\n");
}

TEST_F(Terminal, HasTheWholeTableInTheEnd) {
  Output output(theirs_.get());
  LiveTable table(output);
  table.draw("1\n2\n3\n4\n5\n6\n");
  EXPECT_EQ(written(), "1\n2\n3\n4\n");
  table.draw("1\n2\n3\n4\n5\n6\n", true);
  EXPECT_EQ(written(), "\x1b[4A\x1b[J1\n2\n3\n4\n5\n6\n");
}

}  // namespace
}  // namespace overdue

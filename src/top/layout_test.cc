#include "top/layout.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/why/figures_fixture.h"

namespace overdue {
namespace {

using figures_test::ms;

/// The screen as lines; a later cell covers an earlier one. Each character takes a column.
std::vector<std::string> screen_of(const TopState& state, std::size_t width, std::size_t height,
                                   const TopHeader& header = {"pid 7, 3.00s", "verdict",
                                                              "no loss"}) {
  std::vector<std::vector<std::string>> places(height, std::vector<std::string>(width, " "));
  for (const TopCell& cell : top_cells(state, header, width, height)) {
    EXPECT_LT(cell.line, height);
    EXPECT_LE(cell.column + cell.width, width) << cell.text;
    std::string_view rest = cell.text;
    for (std::size_t i = 0; i < cell.width && !rest.empty(); ++i) {
      const std::size_t length = std::max<std::size_t>(1, printable_length(rest));
      places[cell.line][cell.column + i] = std::string(rest.substr(0, length));
      rest.remove_prefix(length);
    }
  }
  std::vector<std::string> lines;
  for (const auto& line : places) {
    std::string text;
    for (const std::string& place : line) text += place;
    lines.push_back(text.substr(0, text.find_last_not_of(' ') + 1));
  }
  return lines;
}

TopRow waiters() {
  TopRow row{.key = "w", .name = "waiter-* ×2", .sums = {}, .late_ns = 1500 * ms};
  row.sums.wall_ns = 2000 * ms;
  row.sums.oncpu_ns = 500 * ms;
  row.sums.runqueue_ns = 250 * ms;
  row.cause_ns = 1250 * ms;
  row.cause = std::make_shared<const WhyCause>(
      WhyCause{.cause = "futex behind holder[12], which slept in hold_the_lock"});
  return row;
}

TopState with_rows(std::vector<TopRow> rows, std::size_t room = 10) {
  TopState state;
  state.list().show(std::move(rows));
  state.set_room(room);
  return state;
}

TEST(TopLayout, ARowHasItsFiguresItsBarAndItsCause) {
  const std::vector<std::string> lines = screen_of(with_rows({waiters()}), 120, 12);
  EXPECT_EQ(lines[0], "overdue top: pid 7, 3.00s; groups by late time, in the last interval");
  EXPECT_EQ(lines[1], "verdict");
  EXPECT_EQ(lines[2], "no loss");
  EXPECT_EQ(
      lines[3],
      "GROUP                         LATE TIME                  ON CPU   QUEUE  LARGEST CAUSE");
  EXPECT_EQ(lines[4],
            "waiter-* ×2                  1.50s █████▒▒▒············   500ms   250ms  "
            "1.25s futex behind holder[12], which slept in …");
  EXPECT_EQ(lines[10], "waiter-* ×2: 1.25s futex behind holder[12], which slept in hold_the_lock");
}

TEST(TopLayout, EverythingFitsIntoEveryWidth) {
  TopRow long_row = waiters();
  long_row.name = std::string(300, 'n');
  long_row.cause = std::make_shared<const WhyCause>(WhyCause{.cause = std::string(5000, 'c')});
  const TopHeader header{std::string(300, 's'), std::string(300, 'v'), std::string(300, 'l')};
  for (const std::size_t width : {80U, 81U, 99U, 100U, 120U, 159U, 160U, 200U, 500U})
    for (const std::size_t height : {8U, 24U, 60U})
      EXPECT_EQ(screen_of(with_rows({long_row, waiters()}), width, height, header).size(), height);
}

TEST(TopLayout, ASmallScreenNamesWhatIsNeeded) {
  const std::vector<std::string> lines = screen_of(with_rows({waiters()}), 79, 24);
  EXPECT_EQ(lines[0], "overdue top needs 80 columns and 8 lines");
  EXPECT_EQ(lines[1], "q quit");
  EXPECT_EQ(lines[4], "");
  EXPECT_EQ(screen_of(with_rows({}), 10, 1).size(), 1U);
}

TEST(TopLayout, NamesCannotControlTheTerminal) {
  TopRow row = waiters();
  row.name = "\x1b[2J\n";  // rows have escaped names: this is the second line of defence
  row.cause = std::make_shared<const WhyCause>(WhyCause{.cause = "\x1b]0;x\a\xff"});
  for (const TopCell& cell : top_cells(with_rows({row}), {"\n", "\r", "\t"}, 80, 24))
    for (const char letter : cell.text)
      EXPECT_TRUE(static_cast<unsigned char>(letter) >= ' ' && letter != '\x7f') << cell.text;
}

TEST(TopLayout, TheSelectedRowIsMarked) {
  TopState state = with_rows({waiters(), waiters()});
  state.list().move(1);
  std::vector<std::size_t> marked;
  for (const TopCell& cell : top_cells(state, {}, 80, 24))
    if (cell.style == TopCell::Style::selected) marked.push_back(cell.line);
  ASSERT_FALSE(marked.empty());
  EXPECT_EQ(std::ranges::count(marked, 5U), std::ssize(marked));
}

TEST(TopLayout, RowsBeyondTheScreenAreScrolledTo) {
  std::vector<TopRow> rows;
  for (int i = 0; i < 30; ++i) {
    rows.push_back(waiters());
    rows.back().name = rows.back().key = "row" + std::to_string(i);
    rows.back().late_ns -= static_cast<std::uint64_t>(i);
  }
  TopState state = with_rows(std::move(rows));
  state.set_room(top_room(state, 10));
  for (int i = 0; i < 7; ++i) state.press({.kind = TopKey::Kind::down});
  const std::vector<std::string> lines = screen_of(state, 80, 10);
  EXPECT_TRUE(lines[7].starts_with("row7 ")) << lines[7];
  EXPECT_TRUE(lines[4].starts_with("row4 ")) << lines[4];
}

TEST(TopLayout, TheLastLineHasTheFilterAndTheMessage) {
  TopState state = with_rows({waiters()});
  state.press({.character = '/'});
  state.press({.character = 'x'});
  EXPECT_EQ(screen_of(state, 80, 24)[23], "filter: x_   Enter: keep   Esc: all rows");
  state.press({.kind = TopKey::Kind::enter});
  const std::string kept = screen_of(state, 80, 24)[23];
  EXPECT_TRUE(kept.starts_with("filter x (1 of 1)  q quit")) << kept;  // "x" is in its cause
  state.say("saved");
  EXPECT_EQ(screen_of(state, 80, 24)[23], "saved");
}

TEST(TopLayout, AChainTakesThePlaceOfTheRows) {
  TopState state = with_rows({waiters()});
  state.show_chain({"first", "second"});
  const std::vector<std::string> lines = screen_of(state, 80, 24);
  EXPECT_EQ(lines[3], "first");
  EXPECT_EQ(lines[4], "second");
  EXPECT_TRUE(lines[23].starts_with("Esc back")) << lines[23];
}

}  // namespace
}  // namespace overdue

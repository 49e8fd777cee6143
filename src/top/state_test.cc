#include "top/state.h"

#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace overdue {
namespace {

using Kind = TopKey::Kind;
using Shows = TopState::Shows;

TopAction type(TopState& state, std::string_view text) {
  TopAction last = TopAction::none;
  for (const char letter : text) last = state.press({.kind = Kind::character, .character = letter});
  return last;
}

TopState with_names(std::vector<std::string> names) {
  TopState state;
  std::vector<TopRow> rows;
  std::uint64_t late_ns = 100;
  for (std::string& name : names)
    rows.push_back({.key = name, .name = name, .sums = {}, .late_ns = late_ns--});
  state.list().show(std::move(rows));
  state.set_room(2);
  return state;
}

TEST(TopState, LettersChooseTheOrder) {
  TopState state;
  EXPECT_EQ(state.list().sort(), TopSort::late);
  type(state, "c");
  EXPECT_EQ(state.list().sort(), TopSort::oncpu);
  type(state, "r");
  EXPECT_EQ(state.list().sort(), TopSort::runqueue);
  type(state, "n");
  EXPECT_EQ(state.list().sort(), TopSort::name);
  type(state, "l");
  EXPECT_EQ(state.list().sort(), TopSort::late);
}

TEST(TopState, OneLetterGoesThroughGroupsThreadsAndProcesses) {
  TopState state;
  EXPECT_EQ(state.by(), TopBy::groups);
  EXPECT_EQ(type(state, "g"), TopAction::regroup);
  EXPECT_EQ(state.by(), TopBy::threads);
  type(state, "g");
  EXPECT_EQ(state.by(), TopBy::processes);
  type(state, "g");
  EXPECT_EQ(state.by(), TopBy::groups);
}

TEST(TopState, OneLetterTogglesTheTime) {
  TopState state;
  EXPECT_EQ(type(state, "t"), TopAction::retime);
  EXPECT_TRUE(state.since_start());
  EXPECT_EQ(type(state, "t"), TopAction::retime);
  EXPECT_FALSE(state.since_start());
}

TEST(TopState, AFilterTakesEveryLetter) {
  TopState state = with_names({"quick", "slow"});
  EXPECT_EQ(type(state, "/q"), TopAction::none);
  EXPECT_TRUE(state.edits_filter());
  EXPECT_EQ(state.list().rows().size(), 1U);
  type(state, "ö");
  state.press({.kind = Kind::backspace});  // a whole character
  EXPECT_EQ(state.list().filter(), "q");
  state.press({.kind = Kind::enter});
  EXPECT_FALSE(state.edits_filter());
  EXPECT_EQ(state.list().filter(), "q");
  state.press({.kind = Kind::escape});
  EXPECT_EQ(state.list().filter(), "");
  EXPECT_EQ(type(state, "q"), TopAction::quit);
}

TEST(TopState, EscapeWhileTypingShowsAllRows) {
  TopState state = with_names({"quick", "slow"});
  type(state, "/slow");
  state.press({.kind = Kind::escape});
  EXPECT_FALSE(state.edits_filter());
  EXPECT_EQ(state.list().rows().size(), 2U);
}

TEST(TopState, AFilterHasALimit) {
  TopState state;
  type(state, "/" + std::string(1000, 'x'));
  EXPECT_EQ(state.list().filter().size(), 64U);
}

TEST(TopState, EnterAsksForTheChainOfARow) {
  TopState none;
  EXPECT_EQ(none.press({.kind = Kind::enter}), TopAction::none);
  TopState state = with_names({"a", "b", "c"});
  state.press({.kind = Kind::down});
  EXPECT_EQ(state.press({.kind = Kind::enter}), TopAction::explain);
  EXPECT_EQ(state.list().selection()->name, "b");
}

TEST(TopState, ATextScrollsAndEscapeGoesBack) {
  TopState state = with_names({"a", "b"});
  state.show_chain({"1", "2", "3", "4", "5"});
  EXPECT_EQ(state.shows(), Shows::chain);
  state.press({.kind = Kind::page_down});
  EXPECT_EQ(state.first_line(), 2U);
  state.press({.kind = Kind::end});
  EXPECT_EQ(state.first_line(), 3U);  // two lines are on the screen
  state.press({.kind = Kind::up});
  EXPECT_EQ(state.first_line(), 2U);
  EXPECT_EQ(state.list().selection()->name, "a");
  EXPECT_EQ(type(state, "s"), TopAction::save);
  state.press({.kind = Kind::escape});
  EXPECT_EQ(state.shows(), Shows::list);
}

TEST(TopState, HelpNamesEveryLetterOfTheList) {
  TopState state;
  type(state, "?");
  EXPECT_EQ(state.shows(), Shows::help);
  std::string all;
  for (const std::string& line : state.lines()) all += line + "\n";
  for (const std::string_view key :
       {"  g ", "  t ", "  / ", "  l ", " c ", " r ", " n ", "  s ", "  q "})
    EXPECT_NE(all.find(key), std::string::npos) << key;
  EXPECT_EQ(type(state, "q"), TopAction::quit);
}

TEST(TopState, AMessageLastsUntilTheNextKey) {
  TopState state;
  state.say("saved");
  EXPECT_EQ(state.message(), "saved");
  state.press({.kind = Kind::up});
  EXPECT_EQ(state.message(), "");
}

}  // namespace
}  // namespace overdue

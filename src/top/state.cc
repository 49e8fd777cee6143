#include "top/state.h"

#include <algorithm>
#include <utility>

namespace overdue {
namespace {

using Kind = TopKey::Kind;

constexpr std::size_t filter_max = 64;  // bytes
constexpr long all_rows = 1'000'000;    // more than there can be

const std::vector<std::string>& help_lines() {
  static const std::vector<std::string> lines = {
      "Rows",
      "  ↑ ↓ PgUp PgDn Home End   choose a row",
      "  Enter                    the longest operation of the row's largest cause",
      "  g                        groups of threads, single threads, processes",
      "  t                        the last interval, or all time since the start",
      "  /                        rows with this text in name or cause; Esc: all rows",
      "",
      "Order, largest first",
      "  l late time   c time on CPU   r run queue   n name",
      "",
      "Columns",
      "  LATE       time in which the threads could not run, waited for a disk, or were",
      "             blocked by a cause; requested sleep and waits for work do not count",
      "  the bar    █ on a CPU   ▒ could run, but waited for a CPU   · blocked",
      "  ON CPU     interrupts included",
      "  QUEUE      could run, but had no CPU: in a run queue, or throttled",
      "",
      "  s          writes the report of `overdue why` into a new file here",
      "  ^L         draws the screen again",
      "  q          ends the session; the report of all of it follows",
      "  Esc        goes back",
  };
  return lines;
}

void remove_last_character(std::string& text) {
  while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
  if (!text.empty()) text.pop_back();
}

}  // namespace

const std::vector<std::string>& TopState::lines() const {
  return shows_ == Shows::help ? help_lines() : chain_;
}

void TopState::show_chain(std::vector<std::string> lines) {
  chain_ = std::move(lines);
  shows_ = Shows::chain;
  first_line_ = 0;
}

void TopState::set_room(std::size_t lines) {
  room_ = std::max<std::size_t>(1, lines);
  list_.fit(room_);
}

TopAction TopState::press(const TopKey& key) {
  message_.clear();
  if (edits_filter_) {
    press_in_filter(key);
    return TopAction::none;
  }
  if (key.kind == Kind::character && key.character == 'q') return TopAction::quit;
  if (key.kind == Kind::character && key.character == 's') return TopAction::save;
  if (shows_ == Shows::list) return press_in_list(key);
  press_in_text(key);
  return TopAction::none;
}

/// The way of a key through rows or lines; 0: none.
long TopState::steps_of(const TopKey& key) const {
  switch (key.kind) {
    case Kind::up:
      return -1;
    case Kind::down:
      return 1;
    case Kind::page_up:
      return -static_cast<long>(room_);
    case Kind::page_down:
      return static_cast<long>(room_);
    case Kind::home:
      return -all_rows;
    case Kind::end:
      return all_rows;
    case Kind::character:
      return key.character == 'k' ? -1 : key.character == 'j' ? 1 : 0;
    default:
      return 0;
  }
}

TopAction TopState::press_in_list(const TopKey& key) {
  if (key.kind == Kind::enter) return list_.selection() ? TopAction::explain : TopAction::none;
  if (key.kind == Kind::escape) list_.filter("");
  list_.move(steps_of(key));
  list_.fit(room_);
  return key.kind == Kind::character ? press_letter(key.character) : TopAction::none;
}

TopAction TopState::press_letter(char letter) {
  switch (letter) {
    case 'l':
      list_.sort_by(TopSort::late);
      break;
    case 'c':
      list_.sort_by(TopSort::oncpu);
      break;
    case 'r':
      list_.sort_by(TopSort::runqueue);
      break;
    case 'n':
      list_.sort_by(TopSort::name);
      break;
    case '/':
      edits_filter_ = true;
      break;
    case '?':
      shows_ = Shows::help;
      first_line_ = 0;
      break;
    case 'g':
      by_ = by_ == TopBy::groups    ? TopBy::threads
            : by_ == TopBy::threads ? TopBy::processes
                                    : TopBy::groups;
      return TopAction::regroup;
    case 't':
      since_start_ = !since_start_;
      return TopAction::retime;
    default:
      break;
  }
  list_.fit(room_);
  return TopAction::none;
}

void TopState::press_in_text(const TopKey& key) {
  if (key.kind == Kind::escape || key.kind == Kind::enter) {
    shows_ = Shows::list;
    return;
  }
  const std::size_t most = lines().size() > room_ ? lines().size() - room_ : 0;
  first_line_ = static_cast<std::size_t>(
      std::clamp(static_cast<long>(first_line_) + steps_of(key), 0L, static_cast<long>(most)));
}

void TopState::press_in_filter(const TopKey& key) {
  std::string text = list_.filter();
  if (key.kind == Kind::enter) edits_filter_ = false;
  if (key.kind == Kind::backspace) remove_last_character(text);
  if (key.kind == Kind::escape) {
    edits_filter_ = false;
    text.clear();
  }
  if (key.kind == Kind::character && text.size() < filter_max) text += key.character;
  list_.filter(std::move(text));
  list_.fit(room_);
}

}  // namespace overdue

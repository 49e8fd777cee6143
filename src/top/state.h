#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "top/list.h"

namespace overdue {

/// A key that was pressed.
struct TopKey {
  enum class Kind {
    character,
    up,
    down,
    page_up,
    page_down,
    home,
    end,
    enter,
    escape,
    backspace,
    redraw
  };
  Kind kind = Kind::character;
  char character = 0;  ///< a byte of a UTF-8 text
};

/// What a key asks for beyond the screen.
enum class TopAction { none, quit, save, regroup, retime, explain };

/// What the screen shows, and what the keys do. Pure: no terminal, no session.
class TopState {
 public:
  enum class Shows { list, chain, help };

  /// Takes a key. Returns the rest of the work.
  TopAction press(const TopKey& key);
  /// Shows these lines in place of the list, from the first one on.
  void show_chain(std::vector<std::string> lines);
  /// Shows a sentence until the next key.
  void say(std::string message) { message_ = std::move(message); }
  /// The lines of the screen that are free for rows, or for a text.
  void set_room(std::size_t lines);

  TopList& list() { return list_; }
  const TopList& list() const { return list_; }
  Shows shows() const { return shows_; }
  /// Lines of the chain or of the help.
  const std::vector<std::string>& lines() const;
  std::size_t first_line() const { return first_line_; }
  TopBy by() const { return by_; }
  /// Whether the figures are those since the start, not those of the last interval.
  bool since_start() const { return since_start_; }
  bool edits_filter() const { return edits_filter_; }
  const std::string& message() const { return message_; }

 private:
  TopAction press_in_list(const TopKey& key);
  TopAction press_letter(char letter);
  void press_in_text(const TopKey& key);
  void press_in_filter(const TopKey& key);
  long steps_of(const TopKey& key) const;

  TopList list_;
  Shows shows_ = Shows::list;
  std::vector<std::string> chain_;
  std::size_t first_line_ = 0, room_ = 1;
  TopBy by_ = TopBy::groups;
  bool since_start_ = false, edits_filter_ = false;
  std::string message_;
};

}  // namespace overdue

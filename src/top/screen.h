#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "top/layout.h"
#include "top/state.h"

namespace overdue {

/// The terminal of standard input and output, as a screen of its own. Whatever ends the process but
/// SIGKILL, the terminal gets back its state and its former content. One object at a time, used by
/// one thread.
class TopScreen {
 public:
  /// Call require_terminal() before. Throws Error.
  TopScreen();
  ~TopScreen();
  TopScreen(const TopScreen&) = delete;
  TopScreen& operator=(const TopScreen&) = delete;

  std::size_t columns() const;
  std::size_t lines() const;
  /// Draws the cells, unless the terminal takes no text at present (^S).
  void draw(const std::vector<TopCell>& cells);
  /// Draws everything anew with the next draw().
  void forget();
  /// The next key that was pressed, if any. A new size of the screen counts as a key.
  std::optional<TopKey> key();
  /// Whether the terminal is gone.
  bool is_gone() const;

 private:
  void* screen_ = nullptr;  ///< of ncurses
};

}  // namespace overdue

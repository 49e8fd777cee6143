#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "sinks/output.h"

namespace overdue {

/// All columns of a table, or those that fit into 80 columns of a terminal.
enum class TableWidth { full, narrow };

/// The columns and lines of the terminal `fd`; 80 by 24 if they are unknown.
struct ScreenSize {
  std::size_t columns = 80, lines = 24;
};
ScreenSize screen_size(int fd);

/// Lines that `text` takes on a screen of this width: a wider line takes several.
std::size_t screen_lines(std::string_view text, std::size_t columns);

/// The first lines of `text`, as many as the screen has room for.
std::string_view what_fits(std::string_view text, const ScreenSize& screen);

/// A table on a terminal, drawn over itself again and again.
class LiveTable {
 public:
  /// `output` must outlive the table.
  explicit LiveTable(Output& output) : output_(output) {}

  /// Draws `text` over the text drawn before. `last`: all of `text` is drawn, and stays.
  void draw(std::string_view text, bool last = false);

 private:
  Output& output_;
  std::string drawn_;
};

}  // namespace overdue

#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "top/state.h"

namespace overdue {

/// A text at a place of the screen.
struct TopCell {
  enum class Style { plain, heading, selected };
  std::size_t line = 0, column = 0;
  std::size_t width = 0;  ///< columns that the cell may take
  std::string text{};     ///< printable; may be longer than `width`
  Style style = Style::plain;
};

/// The lines above the rows.
struct TopHeader {
  std::string session;  ///< "pid 4711, 12.0s"
  std::string verdict;
  std::string loss;
};

/// The least size of a screen that has room for the rows.
inline constexpr std::size_t top_columns_least = 80, top_lines_least = 8;

/// The lines of a screen of `height` lines that are free for rows, or for a text.
std::size_t top_room(const TopState& state, std::size_t height);

/// The whole screen; a later cell covers an earlier one.
std::vector<TopCell> top_cells(const TopState& state, const TopHeader& header, std::size_t width,
                               std::size_t height);

}  // namespace overdue

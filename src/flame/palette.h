#pragma once

#include <string>
#include <string_view>

#include "flame/frame.h"

namespace overdue {

/// Frames of a kind share a hue; the name selects one of its shades. Kinds stay distinct without
/// the perception of red, green or blue, and text has a contrast of at least 4.5 on every colour:
/// palette_test.cc checks both.
inline constexpr int shades = 5;
/// Differences go from -steps (shrunk, blue) to steps (grown, red).
inline constexpr int difference_steps = 4;

std::string_view text_color(bool dark);
std::string_view kind_color(FrameKind kind, int shade, bool dark);
std::string_view difference_color(int step, bool dark);

/// The class of a frame in the drawing: the letter of its kind and its shade, such as `u3`.
std::string kind_class(FrameKind kind, std::string_view name);
/// The class of a difference: `d0` (shrunk most) to `d8` (grown most).
std::string difference_class(int step);

/// The rules that give these classes their colours, for light and for dark screens.
std::string palette_css(bool differences);

}  // namespace overdue

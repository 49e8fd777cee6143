#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace overdue {

/// `text` in a visible form: control characters, invalid UTF-8, noncharacters, and characters that
/// are invisible or change the direction of others become `\xNN`. Accepts any bytes; returns one
/// line of UTF-8 that XML allows, not yet escaped for XML.
std::string visible(std::string_view text);

/// `text`, which is visible(), for use between tags and in attributes with either quote.
std::string xml_escaped(std::string_view text);

/// How many columns `text`, which is visible(), takes in a fixed-width font: two for a wide
/// character.
std::size_t columns_of(std::string_view text);

/// `text`, which is visible(), cut to `columns` with an ellipsis; empty if it must be cut to less
/// than three columns.
std::string fitted(std::string_view text, std::size_t columns);

}  // namespace overdue

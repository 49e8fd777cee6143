#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace overdue {

/// `text` as people may see it: control characters, what is not UTF-8, and characters that are
/// invisible, change the direction of others or are none as `\xNN`. Any bytes go in; what comes out
/// is UTF-8 on one line that XML allows, not yet escaped for it.
std::string visible(std::string_view text);

/// `text`, which is visible(), for use between tags and in attributes with either quote.
std::string xml_escaped(std::string_view text);

/// How many columns `text`, which is visible(), takes in a fixed-width font: two a wide character.
std::size_t columns_of(std::string_view text);

/// `text`, which is visible(), cut to `columns` with an ellipsis; empty where not even three
/// columns are there for it.
std::string fitted(std::string_view text, std::size_t columns);

}  // namespace overdue

#pragma once

#include <cstdint>
#include <string>

namespace overdue {

/// Appends a character of Unicode, at most 21 bits, as UTF-8.
void append_utf8(std::string& text, std::uint32_t character);

}  // namespace overdue

#include "base/xml_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

/// The code point at the front of `text`, which is `length` bytes of valid UTF-8.
std::uint32_t decoded(std::string_view text, std::size_t length) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (length == 1) return byte(0);
  std::uint32_t code = byte(0) & (0x7fU >> length);
  for (std::size_t i = 1; i < length; ++i) code = code << 6 | (byte(i) & 0x3fU);
  return code;
}

struct Range {
  std::uint32_t first, last;
};
constexpr Range wide[] = {{0x1100, 0x115e}, {0x2e80, 0xa4cf},   {0xac00, 0xd7a3},
                          {0xf900, 0xfaff}, {0xfe30, 0xfe6f},   {0xff01, 0xff60},
                          {0xffe0, 0xffe6}, {0x1f300, 0x1faff}, {0x20000, 0x3fffd}};

template <std::size_t N>
bool is_in(const Range (&ranges)[N], std::uint32_t code) {
  return std::any_of(std::begin(ranges), std::end(ranges), [code](const Range& range) {
    return code >= range.first && code <= range.last;
  });
}

/// The character at the front of `text`, which is visible().
std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(printable_length(text), 1));
}

}  // namespace

std::string visible(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    std::size_t length = printable_length(text);
    if (length == 0) {
      result += text[0] == '\n'   ? "\\n"
                : text[0] == '\t' ? "\\t"
                                  : fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
      length = 1;
    } else {
      result += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return result;
}

std::string xml_escaped(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::size_t columns_of(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) {
    const std::string_view character = first_character(text);
    columns += is_in(wide, decoded(character, character.size())) ? 2 : 1;
    text.remove_prefix(character.size());
  }
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns) {
  if (text.size() <= columns || columns_of(text) <= columns) return std::string(text);
  if (columns < 3) return "";
  std::size_t used = 0, end = 0;
  while (end < text.size()) {
    const std::string_view character = first_character(text.substr(end));
    used += columns_of(character);
    if (used > columns - 1) break;
    end += character.size();
  }
  return std::string(text.substr(0, end)) + "…";
}

}  // namespace overdue

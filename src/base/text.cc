#include "base/text.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include <fmt/format.h>

namespace overdue {
namespace {

/// Matches one `[...]` set at `pattern[at]`; `at` moves past it. A set without `]` is a literal
/// `[`.
bool set_matches(std::string_view pattern, std::size_t& at, char c) {
  // A `]` right after `[` or `[!` belongs to the set, as in the shell.
  const bool inverted =
      at + 1 < pattern.size() && (pattern[at + 1] == '!' || pattern[at + 1] == '^');
  const std::size_t close = pattern.find(']', at + (inverted ? 3 : 2));
  if (close == std::string_view::npos) return pattern[at++] == c;
  std::string_view set = pattern.substr(at + 1, close - at - 1);
  at = close + 1;
  if (inverted) set.remove_prefix(1);
  bool found = false;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (i + 2 < set.size() && set[i + 1] == '-') {
      found |= set[i] <= c && c <= set[i + 2];
      i += 2;
    } else {
      found |= set[i] == c;
    }
  }
  return found != inverted;
}

/// Whether the character is invisible or changes the direction of others: names that differ only in
/// such characters look alike. Default_Ignorable_Code_Point of Unicode 15's DerivedCoreProperties,
/// line and paragraph separators, the marks of interlinear annotation, and private use, whose look
/// depends on the font.
bool is_unseen(char32_t character) {
  struct Range {
    char32_t first, last;
  };
  constexpr std::array<Range, 20> unseen{
      {{0xad, 0xad},       {0x34f, 0x34f},     {0x61c, 0x61c},       {0x115f, 0x1160},
       {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},     {0x2028, 0x202e},
       {0x2060, 0x206f},   {0x3164, 0x3164},   {0xfe00, 0xfe0f},     {0xfeff, 0xfeff},
       {0xffa0, 0xffa0},   {0xfff0, 0xfffb},   {0x1bca0, 0x1bca3},   {0x1d173, 0x1d17a},
       {0xe0000, 0xe0fff}, {0xf0000, 0xfffff}, {0x100000, 0x10ffff}, {0xe000, 0xf8ff}}};
  const bool is_noncharacter = (character & 0xfffe) == 0xfffe;  // XML forbids some
  return is_noncharacter || std::ranges::any_of(unseen, [character](const Range& range) {
           return range.first <= character && character <= range.last;
         });
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({substitute, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

}  // namespace

std::size_t printable_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first >= 0x20 && first < 0x7f) return 1;
  const std::size_t length = first >= 0xf0 && first <= 0xf4 ? 4
                             : first >= 0xe0                ? 3
                             : first >= 0xc2                ? 2
                                                            : 0;
  if (length == 0 || first > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xc0) != 0x80) return 0;
  if (first == 0xc2 && byte(1) < 0xa0) return 0;   // C1 controls drive terminals too
  if (first == 0xe0 && byte(1) < 0xa0) return 0;   // overlong
  if (first == 0xed && byte(1) >= 0xa0) return 0;  // surrogates
  if (first == 0xf0 && byte(1) < 0x90) return 0;   // overlong
  if (first == 0xf4 && byte(1) >= 0x90) return 0;  // beyond U+10FFFF
  char32_t character = first & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) character = character << 6 | (byte(i) & 0x3fu);
  return is_unseen(character) ? 0 : length;
}

std::string printable(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    std::size_t length = printable_length(text);
    if (text[0] == '\\') {
      safe += "\\\\";
      length = 1;
    } else if (length > 0) {
      safe += text.substr(0, length);
    } else {
      length = 1;
      if (text[0] == '\n')
        safe += "\\n";
      else
        safe += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[0]));
    }
    text.remove_prefix(length);
  }
  return safe;
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> units = {"KB", "MB", "GB", "TB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  auto amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1024 && unit + 1 < units.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, units[unit]);
}

std::string unescape_octal(std::string_view text) {
  std::string plain;
  const auto digit = [&](std::size_t at, char last) { return text[at] >= '0' && text[at] <= last; };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size() && digit(i + 1, '3') && digit(i + 2, '7') &&
        digit(i + 3, '7')) {
      plain +=
          static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + text[i + 3] - '0');
      i += 3;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  std::size_t p = 0, t = 0;
  std::size_t star = std::string_view::npos, star_text = 0;
  while (t < text.size()) {
    bool matched = false;
    if (p < pattern.size()) {
      if (pattern[p] == '*') {
        star = p++;
        star_text = t;
        continue;
      }
      if (pattern[p] == '[') {
        matched = set_matches(pattern, p, text[t]);
      } else {
        if (pattern[p] == '\\' && p + 1 < pattern.size()) {
          matched = pattern[++p] == text[t];
        } else {
          matched = pattern[p] == '?' || pattern[p] == text[t];
        }
        ++p;
      }
    }
    if (matched) {
      ++t;
    } else if (star != std::string_view::npos) {  // let the last star eat one more character
      p = star + 1;
      t = ++star_text;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string made_printable(std::string_view text, std::size_t limit) {
  std::string result;
  while (!text.empty()) {
    const std::size_t length = printable_length(text);
    const std::string character =
        length > 0 ? std::string(text.substr(0, length)) : printable(text.substr(0, 1));
    if (result.size() + character.size() > limit) return result + "…";
    result += character;
    text.remove_prefix(length > 0 ? length : 1);
  }
  return result;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string_view candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string suggestion(std::string_view word, std::span<const std::string_view> names) {
  constexpr std::size_t max_names = 3;
  std::vector<std::string_view> near;
  if (const std::string_view best = nearest(word, names); !best.empty()) {
    const std::size_t distance = edit_distance(word, best);
    for (const std::string_view name : names)
      if (edit_distance(word, name) == distance) near.push_back(name);
  } else if (word.size() > 1) {
    for (const std::string_view name : names)
      if (name.find(word) != name.npos) near.push_back(name);
  }
  std::string text;
  for (std::size_t i = 0; i < std::min(near.size(), max_names); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "; " : " or ", near[i]);
  return text.empty() ? text : text + "?";
}

std::size_t display_width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::to_string(number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, 1, ',');
  }
  return digits;
}

std::string without_numbers(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string result;
  for (std::size_t at = 0; at < name.size(); ++at)
    if (!is_digit(name[at]))
      result += name[at];
    else if (at == 0 || !is_digit(name[at - 1]))
      result += '*';
  return result;
}

std::string filled(std::string_view text, std::size_t width, std::size_t indent) {
  std::string result;
  std::size_t column = 0;
  for (const std::string_view word : split(text, ' ')) {
    const std::size_t size = display_width(word);
    if (column > 0 && column + 1 + size > width) {
      result += '\n';
      column = 0;
    }
    if (column == 0) {
      result.append(indent, ' ');
      column = indent;
    } else {
      result += ' ';
      ++column;
    }
    result.append(word);
    column += size;
  }
  if (!result.empty()) result += '\n';
  return result;
}

}  // namespace overdue

#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overdue {

/// `text` made safe to print on a terminal: control bytes, DEL, invisible characters and invalid
/// UTF-8 become `\xNN`, a newline `\n`, a backslash `\\`. Thread names and paths of other
/// processes are hostile input.
std::string printable(std::string_view text);

/// The length in bytes of the first character of `text` (not empty) if printable() keeps it; 0 if
/// the first byte must be escaped. The backslash counts as kept, although printable() doubles it.
std::size_t printable_length(std::string_view text);

/// Makes `text`, which claims to be printable() already, printable for certain: escapes the rest,
/// and cuts `text` after `limit` bytes, with "…" in place of the remainder.
std::string made_printable(std::string_view text, std::size_t limit);

/// A fixed-size, possibly unterminated char array from the kernel, up to its first NUL.
template <std::size_t N>
std::string_view fixed_text(const char (&bytes)[N]) {
  const std::string_view whole(bytes, N);
  return whole.substr(0, whole.find('\0'));
}

/// "512 B", "4.0 KB", "1.2 GB": powers of 1024.
std::string bytes_text(std::uint64_t bytes);

/// `text` with its octal escapes decoded (`\040` for a space), as in /proc/mounts. Any other
/// backslash stays.
std::string unescape_octal(std::string_view text);

/// Shell-like match of `*`, `?`, `[a-z]` and `\x` against the whole text.
bool glob_matches(std::string_view pattern, std::string_view text);

/// The candidate nearest to `word` by edit distance, if near enough for a suggestion; else empty.
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

/// What to say of a word that names nothing, behind the message: "; 'block'?", or
/// "; 'gc' or 'python-gc'?". At most three of `names`: those as near as the nearest by edit
/// distance, or else those that contain the word. Empty if there are none.
std::string suggestion(std::string_view word, std::span<const std::string_view> names);

/// The columns of a text on a terminal; each character counts as one column.
std::size_t display_width(std::string_view text);

/// The parts of `text` between `separator`s; empty parts are dropped.
std::vector<std::string_view> split(std::string_view text, char separator);

/// `1234567` as `1,234,567`.
std::string grouped(std::uint64_t number);

/// The name with `*` in place of each number: `dw-22` and `dw-23` are `dw-*`.
std::string without_numbers(std::string_view name);

/// The lines of `text` filled up to `width` columns, each with `indent` spaces in front and a
/// newline at the end. A column is as in display_width().
std::string filled(std::string_view text, std::size_t width, std::size_t indent);

}  // namespace overdue

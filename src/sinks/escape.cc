#include "sinks/escape.h"

#include <array>
#include <cstdint>
#include <cstring>

#include "base/text.h"

namespace overdue {
namespace {

/// Bytes that no format escapes.
constexpr std::array<bool, 256> is_plain = [] {
  std::array<bool, 256> bytes{};
  for (std::size_t byte = 0x20; byte < 0x7f; ++byte) bytes[byte] = byte != '"' && byte != '\\';
  return bytes;
}();

/// Whether the eight bytes at `bytes` are all plain; may be false although they are. Arithmetic
/// tests all eight bytes at once, so ordinary text, which is nearly all text, passes quickly.
bool eight_plain(const char* bytes) {
  constexpr std::uint64_t ones = 0x0101010101010101, highs = ones << 7;
  std::uint64_t word;
  std::memcpy(&word, bytes, sizeof word);
  const auto has_zero = [](std::uint64_t w) { return (w - ones) & ~w & highs; };
  const std::uint64_t below_space = (word - ones * 0x20) & ~word;
  return ((word | below_space | (word + ones) | has_zero(word ^ ones * '"') |
           has_zero(word ^ ones * '\\')) &
          highs) == 0;
}

std::size_t plain_length(std::string_view text) {
  std::size_t at = 0;
  while (at + 8 <= text.size() && eight_plain(text.data() + at)) at += 8;
  while (at < text.size() && is_plain[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

constexpr std::size_t room_max = 4096;

constexpr std::string_view hex_digits = "0123456789abcdef";

void append_hex(Output& output, std::string_view prefix, unsigned char byte) {
  output.append(prefix);
  output.append(hex_digits[byte >> 4]);
  output.append(hex_digits[byte & 15]);
}

/// Appends `text`. At a byte that is not plain, `special` appends the replacement of the character
/// at the front of the rest, and returns the number of bytes that it has replaced.
template <typename Special>
void append_escaped(Output& output, std::string_view text, Special special) {
  for (;;) {
    const std::size_t length = plain_length(text);
    output.append(text.substr(0, length));
    text.remove_prefix(length);
    if (text.empty()) return;
    text.remove_prefix(special(text));
  }
}

std::size_t append_json_special(Output& output, std::string_view rest) {
  const auto byte = static_cast<unsigned char>(rest[0]);
  switch (byte) {
    case '"':
      output.append("\\\"");
      return 1;
    case '\\':
      output.append("\\\\");
      return 1;
    case '\n':
      output.append("\\n");
      return 1;
    case '\r':
      output.append("\\r");
      return 1;
    case '\t':
      output.append("\\t");
      return 1;
    default:
      break;
  }
  if (byte < 0x20 || byte == 0x7f) {
    append_hex(output, "\\u00", byte);
    return 1;
  }
  if (const std::size_t length = printable_length(rest)) {
    output.append(rest.substr(0, length));
    return length;
  }
  append_hex(output, "\\\\x", byte);
  return 1;
}

std::size_t append_printable_special(Output& output, std::string_view rest,
                                     Backslashes backslashes) {
  const auto byte = static_cast<unsigned char>(rest[0]);
  if (byte == '\\') {
    output.append(backslashes == Backslashes::doubled ? std::string_view("\\\\")
                                                      : std::string_view("\\"));
    return 1;
  }
  if (byte == '\n') {
    output.append("\\n");
    return 1;
  }
  if (const std::size_t length = printable_length(rest)) {
    output.append(rest.substr(0, length));
    return length;
  }
  append_hex(output, "\\x", byte);
  return 1;
}

/// Whether a spreadsheet would compute the text instead of showing it. Numbers are harmless.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@").find(text[0]) == std::string_view::npos)
    return false;
  const std::string_view rest = text.substr(1);
  return rest.empty() || rest.find_first_not_of("0123456789.") != std::string_view::npos;
}

}  // namespace

void append_json_string(Output& output, std::string_view text) {
  if (text.size() < room_max && plain_length(text) == text.size()) {  // the usual case
    char* to = output.room(text.size() + 2);
    *to++ = '"';
    text.copy(to, text.size());  // memcpy() forbids the null pointer of an empty text
    to[text.size()] = '"';
    return output.taken(text.size() + 2);
  }
  output.append('"');
  append_escaped(output, text,
                 [&](std::string_view rest) { return append_json_special(output, rest); });
  output.append('"');
}

void append_json_key(Output& output, std::string_view name) {
  output.append(',');
  append_json_string(output, name);
  output.append(':');
}

void append_printable(Output& output, std::string_view text, Backslashes backslashes) {
  append_escaped(output, text, [&](std::string_view rest) {
    return append_printable_special(output, rest, backslashes);
  });
}

void append_csv_field(Output& output, std::string_view text, Backslashes backslashes) {
  const std::string_view in_front = is_formula(text) ? "'" : "";
  if (text.find_first_of(",\"") == std::string_view::npos) {
    output.append(in_front);
    return append_printable(output, text, backslashes);
  }
  output.append('"');
  output.append(in_front);
  append_escaped(output, text, [&](std::string_view rest) -> std::size_t {
    if (rest[0] != '"') return append_printable_special(output, rest, backslashes);
    output.append("\"\"");
    return 1;
  });
  output.append('"');
}

}  // namespace overdue

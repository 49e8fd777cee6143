#include "syscalls/arguments_text.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace overdue {
namespace {

template <typename Number>
void append_number(std::string& out, Number value, int base) {
  char digits[24];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value, base);
  out.append(digits, end);
}

const Symbol* find_symbol(const Symbols& symbols, std::uint64_t value) {
  const auto found = std::find_if(symbols.values.begin(), symbols.values.end(),
                                  [&](const Symbol& each) { return each.value == value; });
  return found == symbols.values.end() ? nullptr : &*found;
}

/// Appends the parts of a value made of bits, with `|` between them.
class Parts {
 public:
  explicit Parts(std::string& out) : out_(out), begin_(out.size()) {}
  void add(std::string_view name) {
    separate();
    out_ += name;
  }
  void add_hex(std::uint64_t value) {
    separate();
    append_hex(out_, value);
  }
  bool empty() const { return out_.size() == begin_; }

 private:
  void separate() {
    if (!empty()) out_ += '|';
  }
  std::string& out_;
  std::size_t begin_;
};

}  // namespace

void append_signed(std::string& out, std::int64_t value) {
  append_number(out, value, 10);
}

void append_unsigned(std::string& out, std::uint64_t value) {
  append_number(out, value, 10);
}

void append_hex(std::string& out, std::uint64_t value) {
  if (value != 0) out += "0x";
  append_number(out, value, 16);
}

void append_octal(std::string& out, std::uint64_t value) {
  if (value != 0) out += '0';
  append_number(out, value, 8);
}

void append_address(std::string& out, std::uint64_t value) {
  if (value == 0)
    out += "NULL";
  else
    append_hex(out, value);
}

void append_quoted(std::string& out, std::string_view text, bool truncated) {
  const auto is_plain = [](char c) { return c >= ' ' && c < 0x7f && c != '"' && c != '\\'; };
  out += '"';
  if (std::all_of(text.begin(), text.end(), is_plain)) {
    out += text;
  } else {
    for (const char c : printable(text)) {  // escapes everything but the quote
      if (c == '"') out += '\\';
      out += c;
    }
  }
  out += '"';
  if (truncated) out += "…";
}

void append_symbols(std::string& out, const Symbols& symbols, std::uint64_t value) {
  value &= symbols.used_bits;
  if (symbols.choice_bits == Symbols::choice) {
    if (const Symbol* found = find_symbol(symbols, value))
      out += found->name;
    else
      append_hex(out, value);
    return;
  }
  Parts parts(out);
  std::uint64_t rest = value;
  if (symbols.choice_bits != 0 || value == 0) {
    if (const Symbol* found = find_symbol(symbols, value & symbols.choice_bits)) {
      parts.add(found->name);
      rest &= ~symbols.choice_bits;
    }
  }
  for (const Symbol& bits : symbols.values) {
    if (rest == 0) break;
    if (bits.value == 0 || (bits.value & symbols.choice_bits) != 0) continue;
    if ((rest & bits.value) != bits.value) continue;
    parts.add(bits.name);
    rest &= ~bits.value;
  }
  if (rest != 0 || parts.empty()) parts.add_hex(rest);
}

void append_signal(std::string& out, std::uint64_t value) {
  constexpr std::uint32_t first_realtime = 32, last_realtime = 64;
  const auto number = static_cast<std::uint32_t>(value);
  if (const Symbol* found = find_symbol(signal_name, number)) {
    out += found->name;
  } else if (number >= first_realtime && number <= last_realtime) {
    out += "SIGRT_";
    append_unsigned(out, number - first_realtime);
  } else {
    append_signed(out, static_cast<std::int32_t>(number));
  }
}

void append_file_mode(std::string& out, std::uint64_t value) {
  constexpr std::uint32_t type_bits = 0170000;
  static constexpr Symbol types[] = {
      {0140000, "S_IFSOCK"}, {0120000, "S_IFLNK"}, {0100000, "S_IFREG"}, {0060000, "S_IFBLK"},
      {0040000, "S_IFDIR"},  {0020000, "S_IFCHR"}, {0010000, "S_IFIFO"}};
  const auto mode = static_cast<std::uint16_t>(value);
  for (const Symbol& type : types) {
    if (type.value != (mode & type_bits)) continue;
    out += type.name;
    out += '|';
    return append_octal(out, mode & ~type_bits);
  }
  append_octal(out, mode);
}

void append_clone_flags(std::string& out, std::uint64_t value) {
  constexpr std::uint64_t signal_bits = 0xff;
  const std::uint64_t flags = value & ~signal_bits;
  if (flags != 0) append_symbols(out, clone_bits, flags);
  if (const std::uint64_t signal = value & signal_bits; signal != 0 || flags == 0) {
    if (flags != 0) out += '|';
    append_signal(out, signal);
  }
}

void append_futex_operation(std::string& out, std::uint64_t value) {
  constexpr std::uint32_t is_private = 128, is_realtime = 256;
  const auto operation = static_cast<std::uint32_t>(value);
  const std::uint32_t command = operation & ~(is_private | is_realtime);
  append_symbols(out, futex_command, command);
  if (operation & is_private) out += command <= 13 ? "_PRIVATE" : "|FUTEX_PRIVATE_FLAG";
  if (operation & is_realtime) out += "|FUTEX_CLOCK_REALTIME";
}

}  // namespace overdue

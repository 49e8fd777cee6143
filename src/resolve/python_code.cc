#include "resolve/python_code.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.h"
#include "base/utf8.h"

namespace overdue {
namespace {

constexpr std::size_t type_at = 8;       // of every object
constexpr std::size_t code_bytes = 256;  // with all fields that are read
constexpr std::size_t string_head = 40, compact_more = 16, longest_string = 4096;
constexpr std::size_t bytes_head = 32, longest_table = 256u << 10;

template <typename T>
T field(std::span<const std::byte> bytes, std::size_t at) {
  T value{};
  if (at <= bytes.size() && bytes.size() - at >= sizeof value)
    std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The characters of a compact string; one that is not compact is old, and no name.
std::optional<std::string> read_string(const PythonLayout& layout, std::uint64_t address,
                                       const ReadMemory& memory) {
  std::array<std::byte, string_head> head{};
  if (!memory(address, head) || field<std::uint64_t>(head, type_at) != layout.unicode_type)
    return std::nullopt;
  const auto length = field<std::uint64_t>(head, 16);
  const auto state = field<std::uint32_t>(head, 32);
  const std::uint32_t width = state >> 2 & 7;
  const bool is_compact = state >> 5 & 1, is_ascii = state >> 6 & 1;
  if (!is_compact || (width != 1 && width != 2 && width != 4) || (is_ascii && width != 1) ||
      length == 0)
    return std::nullopt;
  const std::size_t kept = std::min<std::uint64_t>(length, longest_string / width);
  std::vector<std::byte> bytes(kept * width);
  const std::size_t more = is_ascii                           ? 0
                           : layout.string_data > string_head ? compact_more + 8
                                                              : compact_more;
  if (!memory(address + layout.string_data + more, bytes)) return std::nullopt;
  std::string text;
  for (std::size_t i = 0; i < kept; ++i) {
    std::uint32_t character = 0;
    std::memcpy(&character, bytes.data() + i * width, width);
    append_utf8(text, character);
  }
  return made_printable(printable(text), longest_string);
}

std::vector<std::byte> read_bytes(const PythonLayout& layout, std::uint64_t address,
                                  const ReadMemory& memory) {
  std::array<std::byte, bytes_head> head{};
  if (!memory(address, head) || field<std::uint64_t>(head, type_at) != layout.bytes_type) return {};
  const auto length = field<std::uint64_t>(head, 16);
  if (length > longest_table) return {};
  std::vector<std::byte> bytes(length);
  if (!memory(address + bytes_head, bytes)) bytes.clear();
  return bytes;
}

/// Reads a location table, entry by entry.
class LineTable {
 public:
  explicit LineTable(std::span<const std::byte> bytes) : bytes_(bytes) {}

  bool is_at_end() const { return at_ >= bytes_.size(); }
  std::uint8_t byte() {
    return is_at_end() ? std::uint8_t{0} : std::to_integer<std::uint8_t>(bytes_[at_++]);
  }
  std::uint64_t number() {
    constexpr unsigned most_bits = 36;
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < most_bits; shift += 6) {
      const std::uint8_t next = byte();
      value |= std::uint64_t{next & 0x3fu} << shift;
      if (!(next & 0x40)) break;
    }
    return value;
  }
  std::int64_t signed_number() {
    const std::uint64_t value = number();
    const auto size = static_cast<std::int64_t>(value >> 1);
    return value & 1 ? -size : size;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

}  // namespace

std::optional<PythonCode> read_python_code(const PythonLayout& layout, std::uint64_t address,
                                           const ReadMemory& memory) {
  std::array<std::byte, code_bytes> bytes{};
  const std::size_t used = std::min<std::size_t>(layout.instructions, bytes.size());
  const std::span code = std::span(bytes).first(used);
  if (address == 0 || !memory(address, code) ||
      field<std::uint64_t>(code, type_at) != layout.code_type)
    return std::nullopt;
  PythonCode read{.name = {}, .file = {}};
  read.name_at = field<std::uint64_t>(code, layout.qualname);
  read.instructions = address + layout.instructions;
  const auto first_line = field<std::int32_t>(code, layout.first_line);
  read.first_line = first_line > 0 ? static_cast<std::uint32_t>(first_line) : 0;
  auto name = read_string(layout, read.name_at, memory);
  if (!name) return std::nullopt;
  read.name = std::move(*name);
  read.file = read_string(layout, field<std::uint64_t>(code, layout.filename), memory)
                  .value_or(std::string());
  read.lines = read_bytes(layout, field<std::uint64_t>(code, layout.line_table), memory);
  return read;
}

// Each entry: a byte with a kind and a number of instructions, and what the kind needs.
std::uint32_t python_line(std::span<const std::byte> table, std::uint32_t first_line,
                          std::uint64_t offset) {
  constexpr std::uint8_t long_form = 14, no_columns = 13, one_line = 10, no_line = 15;
  constexpr std::uint64_t instruction_bytes = 2;
  LineTable entries(table);
  std::int64_t line = first_line;
  std::uint64_t end = 0;
  while (!entries.is_at_end()) {
    const std::uint8_t first = entries.byte();
    const std::uint8_t kind = first >> 3 & 15;
    bool has_line = true;
    if (kind == no_line) {
      has_line = false;
    } else if (kind == long_form) {
      line += entries.signed_number();
      for (int i = 0; i < 3; ++i) entries.number();
    } else if (kind == no_columns) {
      line += entries.signed_number();
    } else if (kind >= one_line) {
      line += kind - one_line;
      for (int i = 0; i < 2; ++i) entries.byte();
    } else {
      entries.byte();
    }
    end += ((first & 7u) + 1u) * instruction_bytes;
    if (offset < end)
      return has_line && line > 0 && line <= INT32_MAX ? static_cast<std::uint32_t>(line) : 0;
  }
  return 0;
}

}  // namespace overdue

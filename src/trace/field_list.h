#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "trace/coding.h"

namespace overdue {

/// Texts of a session are short; a long text (a hostile argv) must not displace all other fields.
inline constexpr std::size_t max_text = 256U << 10;
inline std::string_view bounded_text(std::string_view text) {
  return text.substr(0, max_text);
}

/// Writes a field list (docs/trace-format.md §3) into a borrowed Bytes.
class FieldListWriter {
 public:
  explicit FieldListWriter(Bytes& out) : out_(out) {}

  void number(std::uint16_t tag, std::uint64_t value) {
    start(tag, sizeof value);
    put(out_, value);
  }
  void text(std::uint16_t tag, std::string_view value) {
    start(tag, static_cast<std::uint32_t>(value.size()));
    const auto bytes = as_bytes(value);
    out_.insert(out_.end(), bytes.begin(), bytes.end());
  }
  /// A nested list: `write(FieldListWriter&)` writes its fields.
  template <typename Write>
  void list(std::uint16_t tag, Write write) {
    start(tag, 0);
    const std::size_t begin = out_.size();
    write(*this);
    store(std::span(out_).subspan(begin - sizeof(std::uint32_t)),
          static_cast<std::uint32_t>(out_.size() - begin));
  }

 private:
  void start(std::uint16_t tag, std::uint32_t length) {
    put(out_, tag);
    put(out_, length);
  }

  Bytes& out_;
};

/// One field of a list; `value` is a view of the list's bytes.
struct TaggedValue {
  std::uint16_t tag;
  std::span<const std::byte> value;

  /// The value as a number; 0 if its length is not that of a number.
  std::uint64_t number() const {
    return value.size() == sizeof(std::uint64_t) ? get<std::uint64_t>(value) : 0;
  }
  std::string_view text() const { return as_text(value); }
};

/// Reads a field list. Stops at a field that exceeds the list; never throws.
class FieldListReader {
 public:
  explicit FieldListReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  /// The next field; empty at the end.
  std::optional<TaggedValue> next() {
    constexpr std::size_t head = sizeof(std::uint16_t) + sizeof(std::uint32_t);
    if (rest_.size() < head) return std::nullopt;
    const auto tag = get<std::uint16_t>(rest_);
    const auto length = get<std::uint32_t>(rest_, sizeof(std::uint16_t));
    if (length > rest_.size() - head) return std::nullopt;
    const TaggedValue field{tag, rest_.subspan(head, length)};
    rest_ = rest_.subspan(head + length);
    return field;
  }
  /// Whether every byte was part of a field; false after a damaged one.
  bool at_end() const { return rest_.empty(); }

 private:
  std::span<const std::byte> rest_;
};

}  // namespace overdue

#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

namespace overdue {

/// Reads hostile bytes from front to back. Past the end, every read returns 0 and has_failed()
/// stays true, so a caller needs to check only once after several reads.
class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes, std::size_t at = 0)
      : bytes_(bytes), at_(at), has_failed_(at > bytes.size()) {}

  bool has_failed() const { return has_failed_; }
  bool is_at_end() const { return has_failed_ || at_ >= bytes_.size(); }
  std::size_t position() const { return at_; }
  std::size_t left() const { return has_failed_ ? 0 : bytes_.size() - at_; }
  void fail() { has_failed_ = true; }

  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    if (left() < sizeof value) {
      has_failed_ = true;
      return value;
    }
    std::memcpy(&value, bytes_.data() + at_, sizeof value);
    at_ += sizeof value;
    return value;
  }

  void skip(std::uint64_t size) {
    if (left() < size) {
      has_failed_ = true;
      return;
    }
    at_ += size;
  }

  /// An unsigned LEB128 number, 7 bits a byte. Bits beyond 64 are dropped; more than 12 bytes are a
  /// failure.
  std::uint64_t uleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;; shift += 7) {
      const auto byte = get<std::uint8_t>();
      if (has_failed_) return 0;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      if ((byte & 0x80) == 0) return value;
      if (shift > 70) has_failed_ = true;
    }
  }
  std::int64_t sleb() {
    std::uint64_t value = 0;
    for (unsigned shift = 0;;) {
      const auto byte = get<std::uint8_t>();
      if (has_failed_) return 0;
      if (shift < 64) value |= std::uint64_t{byte & 0x7fu} << shift;
      shift += 7;
      if ((byte & 0x80) == 0) {
        if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
        return static_cast<std::int64_t>(value);
      }
      if (shift > 70) has_failed_ = true;
    }
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_;
  bool has_failed_;
};

}  // namespace overdue

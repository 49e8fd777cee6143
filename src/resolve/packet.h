#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace overdue {

/// Writes a packet, value by value.
class PacketWriter {
 public:
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    put_bytes(std::as_bytes(std::span(&value, 1)));
  }
  void put_bytes(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void put_text(std::string_view text) {
    text = text.substr(0, longest_text);
    put(static_cast<std::uint16_t>(text.size()));
    put_bytes(std::as_bytes(std::span(text)));
  }
  std::size_t size() const { return bytes_.size(); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  static constexpr std::size_t longest_text = 16u << 10;

  std::vector<std::byte> bytes_;
};

/// Reads a packet with any content. Values beyond its end are zero, and the packet then is not
/// good.
class PacketReader {
 public:
  explicit PacketReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// Zero if the packet ends too early.
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  T get() {
    T value{};
    const auto from = get_bytes(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), sizeof value);
    return value;
  }
  std::span<const std::byte> get_bytes(std::size_t size) {
    if (size > bytes_.size()) {
      is_good_ = false;
      bytes_ = {};
      return {};
    }
    const auto front = bytes_.first(size);
    bytes_ = bytes_.subspan(size);
    return front;
  }
  std::string_view get_text() {
    const auto text = get_bytes(get<std::uint16_t>());
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }
  /// 0 or 1.
  bool get_flag() {
    const auto flag = get<std::uint8_t>();
    is_good_ &= flag <= 1;
    return flag == 1;
  }
  void refuse() { is_good_ = false; }
  bool is_good() const { return is_good_; }
  bool is_at_end() const { return bytes_.empty(); }
  bool is_whole() const { return is_good_ && bytes_.empty(); }
  std::span<const std::byte> rest() { return get_bytes(bytes_.size()); }
  std::size_t left() const { return bytes_.size(); }

 private:
  std::span<const std::byte> bytes_;
  bool is_good_ = true;
};

}  // namespace overdue

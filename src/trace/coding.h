#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace overdue {

/// Bytes being written. Only store(), put() and get() depend on the byte order of trace files.
using Bytes = std::vector<std::byte>;

/// Stores `value` little-endian at the start of `out`, which must have room for it.
template <std::unsigned_integral T>
void store(std::span<std::byte> out, T value) {
  for (std::size_t i = 0; i < sizeof(T); ++i)
    out[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
}

/// Appends `value` little-endian.
template <std::unsigned_integral T>
void put(Bytes& out, T value) {
  out.resize(out.size() + sizeof(T));
  store(std::span(out).last(sizeof(T)), value);
}

/// The little-endian number at `offset`; the caller has checked that it is within `bytes`.
template <std::unsigned_integral T>
T get(std::span<const std::byte> bytes, std::size_t offset = 0) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(T); ++i)
    value |= static_cast<std::uint64_t>(bytes[offset + i]) << (8 * i);
  return static_cast<T>(value);
}

/// The bytes of `text`, and back; both views of the same memory.
inline std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}
inline std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace overdue

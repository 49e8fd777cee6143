#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace overdue {

/// Fills all of the span from an address of a process, or returns false.
using ReadMemory = std::function<bool(std::uint64_t address, std::span<std::byte> out)>;

/// A value of trivial type in the memory of a process.
template <typename T>
std::optional<T> value_at(const ReadMemory& memory, std::uint64_t address) {
  T value{};
  if (!memory(address, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
  return value;
}

}  // namespace overdue

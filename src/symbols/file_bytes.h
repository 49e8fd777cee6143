#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// Bytes at positions, of a regular file or of memory, that somebody hostile wrote. Files are read
/// with pread(2), never mapped: one that shrinks while we read must be a short read and not a
/// SIGBUS. Whatever cannot be read whole is nothing.
class FileBytes {
 public:
  /// A descriptor of anything but a regular file has size 0.
  explicit FileBytes(Fd file);
  /// Borrows.
  explicit FileBytes(std::span<const std::byte> memory) : memory_(memory), size_(memory.size()) {}

  std::uint64_t size() const { return size_; }
  /// All of `out`, or false.
  bool read(std::uint64_t offset, std::span<std::byte> out) const;
  /// A part that is at most `limit` bytes long.
  std::optional<std::vector<std::byte>> read(std::uint64_t offset, std::uint64_t size,
                                             std::uint64_t limit) const;
  template <typename T>
    requires std::is_trivially_copyable_v<T>
  std::optional<T> get(std::uint64_t offset) const {
    T value;
    if (!read(offset, std::as_writable_bytes(std::span(&value, 1)))) return std::nullopt;
    return value;
  }

 private:
  bool has(std::uint64_t offset, std::uint64_t size) const {
    return offset <= size_ && size <= size_ - offset;
  }

  Fd file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0;
};

}  // namespace overdue

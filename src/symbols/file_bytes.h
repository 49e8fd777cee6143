#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// Random access to hostile bytes, of a regular file or of memory. Files are read with pread(2),
/// never mapped: a file that shrinks meanwhile must cause a short read, not a SIGBUS. A read that
/// is not complete returns nothing.
class FileBytes {
 public:
  /// A descriptor of anything but a regular file has size 0.
  explicit FileBytes(Fd file);
  /// Borrows.
  explicit FileBytes(std::span<const std::byte> memory) : memory_(memory), size_(memory.size()) {}

  std::uint64_t size() const { return size_; }
  /// Fills all of `out`, or returns false.
  bool read(std::uint64_t offset, std::span<std::byte> out) const;
  /// The `size` bytes at `offset`; nothing if `size` exceeds `limit`.
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

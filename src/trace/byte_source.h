#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace overdue {

/// Bytes at offsets: a file it owns or memory it borrows. Files are read with pread(2), never
/// mapped: a file that shrinks while we read must give a short read, not SIGBUS, and reading must
/// not fill our memory.
class ByteSource {
 public:
  /// What is not a regular file (a pipe) is copied to an unlinked temporary file first, if it
  /// begins with the bytes `magic`. Throws Error where the file cannot be read.
  ByteSource(Fd file, std::string_view name, std::string_view magic);
  explicit ByteSource(std::span<const std::byte> memory) : memory_(memory), size_(memory.size()) {}

  /// Bytes there were when the source was made.
  std::uint64_t size() const { return size_; }

  /// Copies the bytes at `offset` into `out`; returns how many there were (fewer only at the end).
  /// Throws Error when the disk fails.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  Fd file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0;
  std::string name_;
};

}  // namespace overdue

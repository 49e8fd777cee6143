#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/fd.h"

namespace overdue {

/// Whether `file` begins with the bytes `magic`. What had to be taken from a file without positions
/// (a pipe) to see that is in `taken`. Throws Error if the file cannot be read.
bool begins_with(const Fd& file, std::string_view name, std::string_view magic, std::string& taken);

/// An unlinked temporary file with `taken` and then the rest of `from`.
Fd copy_of_stream(const Fd& from, std::string_view name, std::string_view taken);

/// Bytes at offsets, of an owned file or borrowed memory. Files are read with pread(2), never
/// mapped: a file that shrinks during the reading must give a short read, not SIGBUS, and reading
/// must not fill our memory.
class ByteSource {
 public:
  /// An input that is not a regular file (a pipe) is first copied to an unlinked temporary file, if
  /// it begins with the bytes `magic`. Throws Error if the file cannot be read.
  ByteSource(Fd file, std::string_view name, std::string_view magic);
  explicit ByteSource(std::span<const std::byte> memory) : memory_(memory), size_(memory.size()) {}

  /// The number of bytes when the source was made.
  std::uint64_t size() const { return size_; }

  /// Copies the bytes at `offset` into `out`; returns their number (fewer only at the end). Throws
  /// Error if the disk fails.
  std::size_t read(std::uint64_t offset, std::span<std::byte> out) const;

 private:
  Fd file_;
  std::span<const std::byte> memory_;
  std::uint64_t size_ = 0;
  std::string name_;
};

}  // namespace overdue

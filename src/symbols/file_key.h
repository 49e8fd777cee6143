#pragma once

#include <sys/stat.h>

#include <compare>
#include <cstdint>
#include <optional>

#include "base/fd.h"

namespace overdue {

/// Identifies a file in its present state. Uses the change time, not the modification time, which
/// the file's owner can set back.
struct FileKey {
  std::uint64_t device = 0, inode = 0, size = 0;
  std::int64_t change_seconds = 0, change_nanoseconds = 0;
  auto operator<=>(const FileKey&) const = default;

  /// Nothing if `file` is not a regular file.
  static std::optional<FileKey> of(const Fd& file) {
    struct stat status{};
    if (!file || fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
    return FileKey{.device = status.st_dev,
                   .inode = status.st_ino,
                   .size = static_cast<std::uint64_t>(status.st_size),
                   .change_seconds = status.st_ctim.tv_sec,
                   .change_nanoseconds = status.st_ctim.tv_nsec};
  }
};

}  // namespace overdue

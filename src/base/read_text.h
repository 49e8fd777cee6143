#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace overdue {

/// Whether the last component of a path may be a symbolic link.
enum class Links { follow, refuse };

/// What a regular file says; nothing where it cannot be read, is longer than `limit` bytes, or is
/// something else than a regular file (`errno` says why). Sizes of files of /proc, /sys and tracefs
/// are not known before reading.
std::optional<std::string> read_text(const std::filesystem::path& path,
                                     std::size_t limit = 16u << 20, Links links = Links::follow);

/// The same without white space at either end; empty where it cannot be read.
std::string read_word(const std::filesystem::path& path);

/// True when `word` is one of the words of `text`, which are separated by white space.
bool has_word(std::string_view text, std::string_view word);

}  // namespace overdue

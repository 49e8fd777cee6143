#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace overdue {

/// Whether the last component of a path may be a symbolic link.
enum class Links { follow, refuse };

/// The text of a regular file; empty optional if the file cannot be read, is longer than `limit`
/// bytes, or is not a regular file (`errno` has the reason). The sizes of files of /proc, /sys and
/// tracefs are not known before they are read.
std::optional<std::string> read_text(const std::filesystem::path& path,
                                     std::size_t limit = 16u << 20, Links links = Links::follow);

/// The text without leading and trailing white space; empty if the file cannot be read.
std::string read_word(const std::filesystem::path& path);

/// Whether `word` is one of the words of `text`, which white space separates.
bool has_word(std::string_view text, std::string_view word);

}  // namespace overdue

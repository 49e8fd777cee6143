#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace overdue {

/// What a file of /proc, /sys or tracefs says, at most 16 MiB of it; nothing where it cannot be
/// read (`errno` says why). Their sizes are not known before reading.
std::optional<std::string> read_text(const std::filesystem::path& path);

/// The same without white space at either end; empty where it cannot be read.
std::string read_word(const std::filesystem::path& path);

/// True when `word` is one of the words of `text`, which are separated by white space.
bool has_word(std::string_view text, std::string_view word);

}  // namespace overdue

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "symbols/elf_image.h"
#include "symbols/elf_symbols.h"

namespace overdue {

/// Receives an open debug file and its headers; returns true to end the search with this file.
using TakeDebugFile = std::function<bool(Fd file, const ElfImage& debug)>;

/// Passes the separate debug files of `image` to `take`, best first, until `take` returns true: by
/// build id, then by .gnu_debuglink beside `path` (the file's own, absolute). `open` opens them.
/// Files with another build id or checksum are skipped, and so is a linked file of more than
/// `max_bytes` bytes, which is too long for a checksum. Whether `take` returned true.
bool look_for_debug_file(const ElfImage& image, const OpenFile& open, const std::string& path,
                         std::uint64_t max_bytes, const TakeDebugFile& take);

/// Where the DWARF of a file is.
struct DebugInfo {
  Fd file{};
  std::uint64_t bias = 0;  ///< subtracted from the program's addresses; may wrap
};
/// Finds DWARF in the file itself, else in its separate debug file; nothing if there is none.
std::optional<DebugInfo> find_debug_info(Fd file, const OpenFile& open, const std::string& path,
                                         const ElfLimits& limits = {});

}  // namespace overdue

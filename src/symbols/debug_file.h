#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/fd.h"
#include "symbols/elf_image.h"
#include "symbols/elf_symbols.h"

namespace overdue {

/// Gets a file that was opened, and its headers; true where it is what was looked for.
using TakeDebugFile = std::function<bool(Fd file, const ElfImage& debug)>;

/// Shows the separate debug files of `image` that `open` finds to `take`, best first, until it
/// wants one: by build id, then by .gnu_debuglink beside `path` (the file's own, absolute). Files
/// whose build id or checksum is another are none. Of more than `most_bytes` no checksum is made.
bool look_for_debug_file(const ElfImage& image, const OpenFile& open, const std::string& path,
                         std::uint64_t most_bytes, const TakeDebugFile& take);

/// Where the DWARF of a file is.
struct DebugInfo {
  Fd file{};
  std::uint64_t bias = 0;  ///< to be taken off the program's addresses; it may wrap
};
/// In the file itself, else in its separate debug file; nothing where there is none.
std::optional<DebugInfo> find_debug_info(Fd file, const OpenFile& open, const std::string& path,
                                         const ElfLimits& limits = {});

}  // namespace overdue

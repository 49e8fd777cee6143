#include "symbols/debug_file.h"

#include <lzma.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace overdue {
namespace {

bool has_crc(const FileBytes& bytes, std::uint32_t expected, std::uint64_t max_bytes) {
  if (bytes.size() > max_bytes) return false;
  std::vector<std::byte> part(1u << 20);
  std::uint32_t crc = 0;
  for (std::uint64_t at = 0; at < bytes.size(); at += part.size()) {
    part.resize(std::min<std::uint64_t>(part.size(), bytes.size() - at));
    if (!bytes.read(at, part)) return false;
    // The polynomial of .gnu_debuglink is that of zlib, and of xz.
    crc = lzma_crc32(reinterpret_cast<const std::uint8_t*>(part.data()), part.size(), crc);
  }
  return crc == expected;
}

bool has_dwarf(const ElfImage& image) {
  return image.section(".debug_info") != nullptr;
}

}  // namespace

bool look_for_debug_file(const ElfImage& image, const OpenFile& open, const std::string& path,
                         std::uint64_t max_bytes, const TakeDebugFile& take) {
  if (!open) return false;
  const std::string build_id = image.build_id();
  for (const std::string& candidate : debug_file_paths_by_id(build_id)) {
    Fd file = open(candidate);
    const FileBytes bytes(file.duplicate());
    const auto debug = ElfImage::read(bytes);
    if (debug && debug->build_id() == build_id && take(std::move(file), *debug)) return true;
  }
  const auto link = image.debug_link();
  if (!link || !path.starts_with('/')) return false;
  for (const std::string& candidate : debug_file_paths_by_link(link->name, path)) {
    Fd file = open(candidate);
    const FileBytes bytes(file.duplicate());
    const auto debug = ElfImage::read(bytes);
    if (debug && has_crc(bytes, link->crc, max_bytes) && take(std::move(file), *debug)) return true;
  }
  return false;
}

std::optional<DebugInfo> find_debug_info(Fd file, const OpenFile& open, const std::string& path,
                                         const ElfLimits& limits) {
  const FileBytes bytes(file.duplicate());
  const auto image = ElfImage::read(bytes);
  if (!image) return std::nullopt;
  if (has_dwarf(*image)) return DebugInfo{.file = std::move(file)};
  DebugInfo found;
  const auto take = [&](Fd candidate, const ElfImage& debug) {
    if (!has_dwarf(debug)) return false;
    const auto here = image->load_address(), there = debug.load_address();
    found = {.file = std::move(candidate), .bias = here && there ? *here - *there : 0};
    return true;
  };
  if (!look_for_debug_file(*image, open, path, limits.debug_file_bytes, take)) return std::nullopt;
  return found;
}

}  // namespace overdue

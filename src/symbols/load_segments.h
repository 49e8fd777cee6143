#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "symbols/elf_image.h"

namespace overdue {

/// Maps file offsets of an ELF file to virtual addresses, by its PT_LOAD segments. If segments
/// share a page of the file, the executable segment counts.
class LoadSegments {
 public:
  LoadSegments() = default;
  explicit LoadSegments(const ElfImage& image);

  /// The virtual address, as the file has it, that a byte of the file is loaded at.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const;
  std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const;

  std::size_t memory_bytes() const { return segments_.capacity() * sizeof(Segment); }

 private:
  struct Segment {
    std::uint64_t file_offset, address, size;
  };
  std::vector<Segment> segments_;  // executable ones first
};

}  // namespace overdue

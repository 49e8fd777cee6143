#include "symbols/load_segments.h"

#include <algorithm>

namespace overdue {

LoadSegments::LoadSegments(const ElfImage& image) {
  for (const bool is_executable : {true, false})
    for (const Elf64_Phdr& segment : image.segments())
      if (segment.p_type == PT_LOAD && ((segment.p_flags & PF_X) != 0) == is_executable)
        segments_.push_back({.file_offset = segment.p_offset,
                             .address = segment.p_vaddr,
                             .size = std::min(segment.p_filesz, segment.p_memsz)});
}

std::optional<std::uint64_t> LoadSegments::address_of(std::uint64_t file_offset) const {
  for (const Segment& segment : segments_)
    if (file_offset >= segment.file_offset && file_offset - segment.file_offset < segment.size)
      return segment.address + (file_offset - segment.file_offset);
  return std::nullopt;
}

std::optional<std::uint64_t> LoadSegments::file_offset_of(std::uint64_t address) const {
  for (const Segment& segment : segments_)
    if (address >= segment.address && address - segment.address < segment.size)
      return segment.file_offset + (address - segment.address);
  return std::nullopt;
}

}  // namespace overdue

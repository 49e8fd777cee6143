#include "unwind/cfi_table.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

constexpr std::uint64_t max_section_bytes = std::numeric_limits<std::int32_t>::max();

std::uint64_t end_of(const Elf64_Phdr& segment) {
  return segment.p_offset + std::min(segment.p_filesz, segment.p_memsz);
}

}  // namespace

CfiTable::CfiTable(const FileBytes& bytes, const Limits& limits) {
  const auto image = ElfImage::read(bytes);
  if (!image || !image->is_64bit() || image->machine() != EM_X86_64) return;
  segments_ = LoadSegments(*image);
  if (const Elf64_Shdr* text = image->section(".text")) text_address_ = text->sh_addr;
  if (const Elf64_Shdr* got = image->section(".got")) got_address_ = got->sh_addr;
  load_section(*image, limits);
  for (const Elf64_Phdr& segment : image->segments())
    if (segment.p_type == PT_GNU_EH_FRAME && index_.empty())
      load_header(*image, segment.p_vaddr, segment.p_filesz, limits);
  if (index_.empty()) index_by_section(limits);
  const Elf64_Shdr* debug = image->section(".debug_frame");
  if (!debug || debug->sh_flags & SHF_COMPRESSED) return;
  const std::uint64_t most =
      std::min(limits.section_bytes, max_section_bytes - std::uint64_t{section_.size()});
  if (const auto section = bytes.read(debug->sh_offset, debug->sh_size, most))
    add_debug_section(*section, limits);
}

CfiTable CfiTable::of_section(std::vector<std::byte> section, std::uint64_t address) {
  CfiTable table;
  if (section.size() > max_section_bytes) return table;
  table.section_ = std::move(section);
  table.debug_begin_ = table.section_.size();
  table.section_address_ = address;
  table.index_by_section(Limits());
  return table;
}

CfiTable CfiTable::of_debug_section(std::vector<std::byte> section) {
  CfiTable table;
  if (section.size() <= max_section_bytes) table.add_debug_section(section, Limits());
  return table;
}

void CfiTable::load_section(const ElfImage& image, const Limits& limits) {
  const Elf64_Shdr* section = image.section(".eh_frame");
  if (!section || section->sh_flags & SHF_COMPRESSED) return;
  section_address_ = section->sh_addr;
  section_ = image.bytes()
                 .read(section->sh_offset, section->sh_size,
                       std::min(limits.section_bytes, max_section_bytes))
                 .value_or(std::vector<std::byte>());
  debug_begin_ = section_.size();
}

// Reads the table that the linker has made for run time. The table also leads to the section in a
// file whose section headers are cut off.
void CfiTable::load_header(const ElfImage& image, std::uint64_t address, std::uint64_t size,
                           const Limits& limits) {
  const auto offset = segments_.file_offset_of(address);
  if (!offset) return;
  const auto bytes = image.bytes().read(*offset, size, limits.section_bytes);
  if (!bytes || bytes->size() < 4) return;
  if (section_.empty()) {
    ByteCursor cursor(*bytes, 4);
    const PointerReader pointer{.encoding = static_cast<std::uint8_t>((*bytes)[1]),
                                .section_address = address,
                                .data_base = address};
    const auto section = pointer.read(cursor);
    if (section) read_around(image, *section, limits);
  }
  if (!index_by_header(*bytes, address, limits)) index_.clear();
}

// Without section headers, the section's end is unknown: at the latest, it is the end of its
// segment.
void CfiTable::read_around(const ElfImage& image, std::uint64_t address, const Limits& limits) {
  const auto offset = segments_.file_offset_of(address);
  if (!offset) return;
  for (const Elf64_Phdr& segment : image.segments()) {
    if (segment.p_type != PT_LOAD || *offset < segment.p_offset || *offset >= end_of(segment))
      continue;
    const auto size = std::min(end_of(segment), image.bytes().size()) - *offset;
    section_address_ = address;
    section_ = image.bytes()
                   .read(*offset, size, std::min(limits.section_bytes, max_section_bytes))
                   .value_or(std::vector<std::byte>());
    debug_begin_ = section_.size();
    return;
  }
}

bool CfiTable::index_by_header(std::span<const std::byte> header, std::uint64_t address,
                               const Limits& limits) {
  ByteCursor cursor(header);
  PointerReader pointer{.section_address = address, .data_base = address};
  const auto version = cursor.get<std::uint8_t>(), section_encoding = cursor.get<std::uint8_t>();
  const auto count_encoding = cursor.get<std::uint8_t>();
  const auto table_encoding = cursor.get<std::uint8_t>();
  if (version != 1 || count_encoding == omitted_pointer || table_encoding == omitted_pointer)
    return false;
  pointer.encoding = section_encoding;
  pointer.read(cursor);
  pointer.encoding = count_encoding;
  const auto count = pointer.read(cursor);
  // Each entry has at least two bytes.
  if (!count || *count > limits.functions || *count > cursor.left() / 2) return false;
  pointer.encoding = table_encoding;
  index_.reserve(*count);
  for (std::uint64_t i = 0; i < *count; ++i) {
    const auto begin = pointer.read(cursor), at = pointer.read(cursor);
    if (!begin || !at || *at - section_address_ >= section_.size()) return false;
    index_.push_back({.begin = *begin, .at = static_cast<std::uint32_t>(*at - section_address_)});
  }
  sort_index();
  return !index_.empty();
}

void CfiTable::sort_index() {
  if (!std::ranges::is_sorted(index_, {}, &Entry::begin))
    std::ranges::sort(index_, {}, &Entry::begin);
  index_.shrink_to_fit();
}

/// The length and the first field that CIE and FDE share.
struct CfiTable::Header {
  enum class Kind : std::uint8_t { terminator, common, function };
  Kind kind = Kind::terminator;  ///< more entries may follow a terminator
  bool is_debug = false;
  std::size_t common_at = 0;  ///< offset of a function's CIE
  std::size_t body = 0, end = 0;
};

// The sections differ in how a function refers to its CIE: by the distance from that field, or by
// the offset in the section. They also differ in the value that a CIE itself has in that field.
std::optional<CfiTable::Header> CfiTable::header_at(std::size_t at) const {
  Header header{.is_debug = at >= debug_begin_};
  const std::span<const std::byte> section =
      std::span<const std::byte>(section_).first(header.is_debug ? section_.size() : debug_begin_);
  ByteCursor cursor(section, at);
  std::uint64_t size = cursor.get<std::uint32_t>();
  const bool is_64bit = size == 0xffffffff;
  if (is_64bit) size = cursor.get<std::uint64_t>();
  if (cursor.has_failed() || size > cursor.left()) return std::nullopt;
  const std::size_t id_at = cursor.position();
  header.end = header.body = id_at + size;
  if (size == 0) return header;
  const bool is_wide = is_64bit && header.is_debug;
  if (size < (is_wide ? 8 : 4)) return std::nullopt;
  const std::uint64_t id =
      is_wide ? cursor.get<std::uint64_t>() : std::uint64_t{cursor.get<std::uint32_t>()};
  header.body = cursor.position();
  const std::uint64_t common = !header.is_debug ? 0 : is_wide ? ~std::uint64_t{0} : 0xffffffff;
  header.kind = id == common ? Header::Kind::common : Header::Kind::function;
  if (header.kind == Header::Kind::common) return header;
  if (id > (header.is_debug ? section.size() - debug_begin_ : id_at))
    header.kind = Header::Kind::terminator;  // damaged: skipped
  else
    header.common_at = header.is_debug ? debug_begin_ + id : id_at - id;
  return header;
}

std::vector<CfiTable::Entry> CfiTable::entries_between(std::size_t begin, std::size_t end,
                                                       const Limits& limits) const {
  std::vector<Entry> entries;
  std::optional<std::size_t> common_at_last;
  std::optional<CfiCommon> common;
  for (std::size_t at = begin; at < end && entries.size() < limits.functions;) {
    const auto header = header_at(at);
    if (!header) break;
    if (header->kind == Header::Kind::function) {
      if (header->common_at != common_at_last) common = common_at(header->common_at);
      common_at_last = header->common_at;
      const auto function = common ? function_of(*header, *common) : std::nullopt;
      if (function)
        entries.push_back({.begin = function->begin, .at = static_cast<std::uint32_t>(at)});
    }
    at = header->end;
  }
  return entries;
}

void CfiTable::index_by_section(const Limits& limits) {
  index_ = entries_between(0, debug_begin_, limits);
  sort_index();
}

// Compilers write .debug_frame for code that .eh_frame does not describe, only for debuggers, but
// its programs are as valid. Functions that the linker has left out are at 0 there.
void CfiTable::add_debug_section(std::span<const std::byte> section, const Limits& limits) {
  section_.insert(section_.end(), section.begin(), section.end());
  std::vector<Entry> entries = entries_between(debug_begin_, section_.size(), limits);
  std::erase_if(entries, [&](const Entry& entry) { return entry.begin == 0 || find(entry.begin); });
  index_.insert(index_.end(), entries.begin(), entries.end());
  sort_index();
}

std::optional<CfiCommon> CfiTable::common_at(std::size_t at) const {
  const auto header = header_at(at);
  if (!header || header->kind != Header::Kind::common) return std::nullopt;
  ByteCursor cursor(std::span<const std::byte>(section_).first(header->end), header->body);
  CfiCommon common;
  common.program_end = header->end;
  common.code_pointers = {
      .section_address = section_address_, .data_base = got_address_, .text_base = text_address_};
  const auto version = cursor.get<std::uint8_t>();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  std::array<char, 8> augmentation{};
  for (std::size_t i = 0;; ++i) {
    const char letter = cursor.get<char>();
    if (cursor.has_failed() || (letter != 0 && i + 1 == augmentation.size())) return std::nullopt;
    augmentation[i] = letter;
    if (letter == 0) break;
  }
  if (version == 4 && (cursor.get<std::uint8_t>() != 8 || cursor.get<std::uint8_t>() != 0))
    return std::nullopt;  // only 8-byte addresses and no segments
  common.code_align = cursor.uleb();
  common.data_align = cursor.sleb();
  const std::uint64_t return_address = version == 1 ? cursor.get<std::uint8_t>() : cursor.uleb();
  if (cursor.has_failed() || return_address >= register_count) return std::nullopt;
  common.return_address = Register(return_address);
  if (augmentation[0] != 'z') {
    common.program_begin = cursor.position();
    // An augmentation without 'z' has no length by which it could be skipped. In .debug_frame, only
    // signal frames have an augmentation.
    common.is_signal_frame = header->is_debug && std::string_view(augmentation.data()) == "S";
    const bool is_known = augmentation[0] == 0 || common.is_signal_frame;
    return is_known ? std::optional(common) : std::nullopt;
  }
  common.has_augmentation = true;
  const std::uint64_t size = cursor.uleb();
  if (size > cursor.left()) return std::nullopt;
  common.program_begin = cursor.position() + size;
  for (std::size_t i = 1; augmentation[i] != 0; ++i) {
    switch (augmentation[i]) {
      case 'R':
        common.code_pointers.encoding = cursor.get<std::uint8_t>();
        break;
      case 'P': {
        PointerReader personality = common.code_pointers;
        personality.encoding = cursor.get<std::uint8_t>();
        personality.data_base = personality.text_base = 0;  // the pointer is not followed
        if (personality.encoding != omitted_pointer) personality.read(cursor);
        break;
      }
      case 'L':
        cursor.skip(1);
        break;
      case 'S':
        common.is_signal_frame = true;
        break;
      default:
        return std::nullopt;  // its effect is unknown
    }
  }
  if (cursor.has_failed() || cursor.position() > common.program_begin) return std::nullopt;
  return common;
}

std::optional<CfiFunction> CfiTable::function_of(const Header& header,
                                                 const CfiCommon& common) const {
  ByteCursor cursor(std::span<const std::byte>(section_).first(header.end), header.body);
  if (common.code_pointers.encoding & 0x80) return std::nullopt;
  const auto begin = common.code_pointers.read(cursor);
  const auto size = common.code_pointers.read_value(cursor);
  if (common.has_augmentation) cursor.skip(cursor.uleb());
  if (!begin || !size || cursor.has_failed()) return std::nullopt;
  if (*size == 0 || *size > ~std::uint64_t{0} - *begin) return std::nullopt;
  return CfiFunction{.common = common,
                     .begin = *begin,
                     .end = *begin + *size,
                     .program_begin = cursor.position(),
                     .program_end = header.end};
}

std::optional<CfiFunction> CfiTable::function_at(std::size_t at) const {
  const auto header = header_at(at);
  if (!header || header->kind != Header::Kind::function) return std::nullopt;
  const auto common = common_at(header->common_at);
  return common ? function_of(*header, *common) : std::nullopt;
}

std::optional<CfiRow> CfiTable::find(std::uint64_t address) const {
  auto entry = std::ranges::upper_bound(index_, address, {}, &Entry::begin);
  if (entry == index_.begin()) return std::nullopt;
  --entry;
  const auto function = function_at(entry->at);
  if (!function || address < function->begin || address >= function->end) return std::nullopt;
  return row_of(section_, *function, address);
}

std::span<const std::byte> CfiTable::expression(const CfiRule& rule) const {
  const auto at = static_cast<std::size_t>(rule.value);
  if (rule.value < 0 || at > section_.size() || rule.size > section_.size() - at) return {};
  return std::span(section_).subspan(at, rule.size);
}

std::size_t CfiTable::memory_bytes() const {
  return sizeof *this + section_.capacity() + index_.capacity() * sizeof(Entry) +
         segments_.memory_bytes();
}

}  // namespace overdue

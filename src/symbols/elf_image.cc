#include "symbols/elf_image.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include <fmt/format.h>

namespace overdue {
namespace {

constexpr std::uint64_t max_segments = 4096;
constexpr std::uint64_t max_sections = 65536;
constexpr std::uint64_t max_section_name_bytes = 4u << 20;
// Few, because hostile headers could have the same bytes read again and again.
constexpr std::uint64_t max_build_id_notes_bytes = 64u << 10;
constexpr std::size_t max_note_sections = 64;
constexpr std::size_t longest_section_name = 64;
constexpr std::size_t longest_build_id = 64;
constexpr auto our_byte_order =
    std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;

Elf64_Phdr widened(const Elf64_Phdr& segment) {
  return segment;
}
Elf64_Phdr widened(const Elf32_Phdr& segment) {
  return {.p_type = segment.p_type,
          .p_flags = segment.p_flags,
          .p_offset = segment.p_offset,
          .p_vaddr = segment.p_vaddr,
          .p_paddr = segment.p_paddr,
          .p_filesz = segment.p_filesz,
          .p_memsz = segment.p_memsz,
          .p_align = segment.p_align};
}

Elf64_Shdr widened(const Elf64_Shdr& section) {
  return section;
}
Elf64_Shdr widened(const Elf32_Shdr& section) {
  return {.sh_name = section.sh_name,
          .sh_type = section.sh_type,
          .sh_flags = section.sh_flags,
          .sh_addr = section.sh_addr,
          .sh_offset = section.sh_offset,
          .sh_size = section.sh_size,
          .sh_link = section.sh_link,
          .sh_info = section.sh_info,
          .sh_addralign = section.sh_addralign,
          .sh_entsize = section.sh_entsize};
}

std::uint64_t aligned(std::uint64_t value, std::uint64_t align) {
  return (value + align - 1) & ~(align - 1);
}

}  // namespace

std::string_view string_at(const std::vector<std::byte>& strings, std::uint64_t offset) {
  if (offset >= strings.size()) return {};
  const std::string_view rest(reinterpret_cast<const char*>(strings.data()) + offset,
                              strings.size() - offset);
  const std::size_t end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view() : rest.substr(0, end);
}

std::optional<ElfImage> ElfImage::read(const FileBytes& bytes) {
  const auto ident = bytes.get<std::array<unsigned char, EI_NIDENT>>(0);
  if (!ident || std::memcmp(ident->data(), ELFMAG, SELFMAG) != 0) return std::nullopt;
  if ((*ident)[EI_DATA] != our_byte_order) return std::nullopt;
  ElfImage image(bytes);
  image.is_64bit_ = (*ident)[EI_CLASS] == ELFCLASS64;
  if (!image.is_64bit_ && (*ident)[EI_CLASS] != ELFCLASS32) return std::nullopt;
  const bool read = image.is_64bit_ ? image.read_headers<Elf64_Ehdr, Elf64_Phdr, Elf64_Shdr>()
                                    : image.read_headers<Elf32_Ehdr, Elf32_Phdr, Elf32_Shdr>();
  if (!read) return std::nullopt;
  return image;
}

template <typename Header, typename Segment, typename Section>
bool ElfImage::read_headers() {
  const auto header = bytes_->get<Header>(0);
  if (!header) return false;
  machine_ = header->e_machine;

  // Counts that are too large for the header are in section 0.
  std::uint64_t segments = header->e_phnum, sections = header->e_shnum, names = header->e_shstrndx;
  const auto first = header->e_shoff ? bytes_->get<Section>(header->e_shoff) : std::nullopt;
  if (first && sections == 0) sections = first->sh_size;
  if (first && names == SHN_XINDEX) names = first->sh_link;
  if (first && segments == PN_XNUM) segments = first->sh_info;

  if (header->e_phentsize == sizeof(Segment)) {
    for (std::uint64_t i = 0; i < std::min(segments, max_segments); ++i) {
      const auto segment = bytes_->get<Segment>(header->e_phoff + i * sizeof(Segment));
      if (!segment) break;
      if (segment->p_type == PT_LOAD || segment->p_type == PT_NOTE ||
          segment->p_type == PT_GNU_EH_FRAME)
        segments_.push_back(widened(*segment));
    }
  }
  if (!first || header->e_shentsize != sizeof(Section)) return true;
  for (std::uint64_t i = 0; i < std::min(sections, max_sections); ++i) {
    const auto section = bytes_->get<Section>(header->e_shoff + i * sizeof(Section));
    if (!section) break;
    sections_.push_back(widened(*section));
  }
  if (names < sections_.size() && sections_[names].sh_type == SHT_STRTAB) {
    section_names_ =
        bytes_->read(sections_[names].sh_offset, sections_[names].sh_size, max_section_name_bytes)
            .value_or(std::vector<std::byte>());
  }
  return true;
}

std::string_view ElfImage::name_of(const Elf64_Shdr& section) const {
  if (section.sh_name >= section_names_.size()) return {};
  const std::string_view rest(
      reinterpret_cast<const char*>(section_names_.data()) + section.sh_name,
      section_names_.size() - section.sh_name);
  return rest.substr(0, rest.substr(0, longest_section_name).find('\0'));
}

const Elf64_Shdr* ElfImage::section(std::string_view name) const {
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL && name_of(section) == name)
      return &section;
  return nullptr;
}

const Elf64_Shdr* ElfImage::section_of_type(std::uint32_t type) const {
  for (const Elf64_Shdr& section : sections_)
    if (section.sh_type == type) return &section;
  return nullptr;
}

// Notes are a name and a description, each padded to 4 bytes; in segments aligned to 8, to 8.
std::string ElfImage::build_id_in(std::uint64_t offset, std::uint64_t size,
                                  std::uint64_t align) const {
  size = std::min(size, max_build_id_notes_bytes);
  const std::uint64_t padding = align == 8 ? 8 : 4;
  for (std::uint64_t at = 0; at < size && size - at >= sizeof(Elf64_Nhdr);) {
    const auto note = bytes_->get<Elf64_Nhdr>(offset + at);
    if (!note) break;
    const std::uint64_t name = at + sizeof *note;
    const std::uint64_t description = aligned(name + note->n_namesz, padding);
    const std::uint64_t end = description + note->n_descsz;
    if (end > size) break;
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof ELF_NOTE_GNU &&
        note->n_descsz > 0) {
      const auto owner = bytes_->get<std::array<char, sizeof ELF_NOTE_GNU>>(offset + name);
      const auto id = bytes_->read(offset + description, note->n_descsz, longest_build_id);
      if (owner && id && std::memcmp(owner->data(), ELF_NOTE_GNU, sizeof ELF_NOTE_GNU) == 0) {
        std::string text;
        for (const std::byte byte : *id) text += fmt::format("{:02x}", static_cast<unsigned>(byte));
        return text;
      }
    }
    at = aligned(end, padding);
  }
  return {};
}

std::string ElfImage::build_id() const {
  std::string id;
  std::size_t looked_at = 0;
  // Sections come first: in a debug file they are right, but segments still have the offsets of the
  // file that it was split from.
  for (const Elf64_Shdr& section : sections_)
    if (id.empty() && section.sh_type == SHT_NOTE && ++looked_at <= max_note_sections)
      id = build_id_in(section.sh_offset, section.sh_size, section.sh_addralign);
  for (const Elf64_Phdr& segment : segments_)
    if (id.empty() && segment.p_type == PT_NOTE && ++looked_at <= 2 * max_note_sections)
      id = build_id_in(segment.p_offset, segment.p_filesz, segment.p_align);
  return id;
}

std::optional<ElfImage::DebugLink> ElfImage::debug_link() const {
  const Elf64_Shdr* section = this->section(".gnu_debuglink");
  if (!section) return std::nullopt;
  const auto content = bytes_->read(section->sh_offset, section->sh_size, 4096);
  if (!content) return std::nullopt;
  const std::string_view name = string_at(*content, 0);
  const std::uint64_t crc_at = aligned(name.size() + 1, 4);
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string_view::npos)
    return {};
  if (content->size() < crc_at + sizeof(std::uint32_t)) return std::nullopt;
  DebugLink link{.name = std::string(name)};
  std::memcpy(&link.crc, content->data() + crc_at, sizeof link.crc);
  return link;
}

std::optional<std::uint64_t> ElfImage::load_address() const {
  std::optional<std::uint64_t> lowest;
  for (const Elf64_Phdr& segment : segments_)
    if (segment.p_type == PT_LOAD)
      lowest = std::min(lowest.value_or(segment.p_vaddr), segment.p_vaddr);
  return lowest;
}

bool ElfImage::is_code(std::uint64_t address) const {
  return std::ranges::any_of(segments_, [&](const Elf64_Phdr& segment) {
    return segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0 &&
           address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_memsz;
  });
}

}  // namespace overdue

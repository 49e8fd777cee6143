#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "symbols/elf_image.h"
#include "symbols/file_bytes.h"
#include "symbols/load_segments.h"
#include "unwind/cfi_program.h"
#include "unwind/cfi_row.h"

namespace overdue {

/// The unwind information of one ELF file: for each address, the places of the caller's registers.
/// From .eh_frame and, for code that it does not describe, from .debug_frame. Only x86-64. The
/// bytes are hostile: no content makes the constructor throw or a look-up take long, and damaged
/// entries have no row. elfutils is not used, for the reasons given at ElfImage.
class CfiTable {
 public:
  struct Limits {
    std::uint64_t section_bytes = 256u << 20;
    std::size_t functions = 8u << 20;
  };

  CfiTable() = default;
  explicit CfiTable(const FileBytes& bytes) : CfiTable(bytes, Limits()) {}
  CfiTable(const FileBytes& bytes, const Limits& limits);
  /// The table of an .eh_frame in memory, as if loaded at `address`.
  static CfiTable of_section(std::vector<std::byte> section, std::uint64_t address);
  /// The table of a .debug_frame in memory.
  static CfiTable of_debug_section(std::vector<std::byte> section);

  /// The row for a virtual address, as address_of() returns it.
  std::optional<CfiRow> find(std::uint64_t address) const;
  /// The bytes of an expression of a row of this table.
  std::span<const std::byte> expression(const CfiRule& rule) const;

  /// The virtual address that a byte of the file is loaded at; executable segments come first.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const {
    return segments_.address_of(file_offset);
  }
  std::size_t functions() const { return index_.size(); }
  std::size_t memory_bytes() const;

 private:
  struct Entry {
    std::uint64_t begin;
    std::uint32_t at;  // offset of its FDE in the section
  };
  struct Header;

  void load_section(const ElfImage& image, const Limits& limits);
  void load_header(const ElfImage& image, std::uint64_t address, std::uint64_t size,
                   const Limits& limits);
  void read_around(const ElfImage& image, std::uint64_t address, const Limits& limits);
  bool index_by_header(std::span<const std::byte> header, std::uint64_t address,
                       const Limits& limits);
  void index_by_section(const Limits& limits);
  void add_debug_section(std::span<const std::byte> section, const Limits& limits);
  std::vector<Entry> entries_between(std::size_t begin, std::size_t end,
                                     const Limits& limits) const;
  void sort_index();
  std::optional<CfiCommon> common_at(std::size_t at) const;
  std::optional<CfiFunction> function_at(std::size_t at) const;
  std::optional<CfiFunction> function_of(const Header& header, const CfiCommon& common) const;
  std::optional<Header> header_at(std::size_t at) const;

  std::vector<std::byte> section_;  // .eh_frame, followed by .debug_frame
  std::size_t debug_begin_ = 0;     // offset of .debug_frame
  std::uint64_t section_address_ = 0;
  std::optional<std::uint64_t> text_address_, got_address_;
  std::vector<Entry> index_;  // by begin
  LoadSegments segments_;
};

}  // namespace overdue

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

/// What the .eh_frame of one ELF file says about its code, and for code it does not know,
/// .debug_frame: for each address, where the caller's registers are. Only x86-64. The bytes are
/// hostile, and none of them makes the constructor throw, or a lookup take long: what is damaged
/// has no row. Our own reading rather than elfutils', for the reasons that ElfImage gives.
class CfiTable {
 public:
  struct Limits {
    std::uint64_t section_bytes = 256u << 20;
    std::size_t functions = 8u << 20;
  };

  CfiTable() = default;
  explicit CfiTable(const FileBytes& bytes) : CfiTable(bytes, Limits()) {}
  CfiTable(const FileBytes& bytes, const Limits& limits);
  /// Of a section that is in memory, as it would be loaded at `address`.
  static CfiTable of_section(std::vector<std::byte> section, std::uint64_t address);
  /// The same of a .debug_frame.
  static CfiTable of_debug_section(std::vector<std::byte> section);

  /// The row for a virtual address, as address_of() gives them.
  std::optional<CfiRow> find(std::uint64_t address) const;
  /// The bytes of an expression of a row of this table.
  std::span<const std::byte> expression(const CfiRule& rule) const;

  /// The virtual address that a byte of the file is loaded at; executable segments are meant first.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const {
    return segments_.address_of(file_offset);
  }
  std::size_t functions() const { return index_.size(); }
  std::size_t memory_bytes() const;

 private:
  struct Entry {
    std::uint64_t begin;
    std::uint32_t at;  // its FDE in the section
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

  std::vector<std::byte> section_;  // .eh_frame, and behind it .debug_frame
  std::size_t debug_begin_ = 0;     // of the latter
  std::uint64_t section_address_ = 0;
  std::optional<std::uint64_t> text_address_, got_address_;
  std::vector<Entry> index_;  // by begin
  LoadSegments segments_;
};

}  // namespace overdue

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "unwind/byte_cursor.h"
#include "unwind/cfi_row.h"

namespace overdue {

/// The encoding of a pointer in .eh_frame (DW_EH_PE_…), and the addresses that it may be relative
/// to.
struct PointerReader {
  std::uint8_t encoding = 0;
  std::uint64_t section_address = 0;         ///< address of byte 0 of the cursor
  std::optional<std::uint64_t> data_base{};  ///< for DW_EH_PE_datarel
  std::optional<std::uint64_t> text_base{};  ///< for DW_EH_PE_textrel

  /// Nothing, and a failed cursor, for an undefined encoding or an unknown base. For an indirect
  /// pointer, the address of the pointer.
  std::optional<std::uint64_t> read(ByteCursor& cursor) const;
  /// Like read(), without the base: a length.
  std::optional<std::uint64_t> read_value(ByteCursor& cursor) const;
};
constexpr std::uint8_t omitted_pointer = 0xff;

/// A common information entry, which several functions share.
struct CfiCommon {
  std::uint64_t code_align = 1;
  std::int64_t data_align = 1;
  Register return_address = Register::rip;
  PointerReader code_pointers;
  bool is_signal_frame = false;
  bool has_augmentation = false;
  std::size_t program_begin = 0, program_end = 0;  ///< offsets in the section
};

/// A frame description entry: one function.
struct CfiFunction {
  CfiCommon common;
  std::uint64_t begin = 0, end = 0;
  std::size_t program_begin = 0, program_end = 0;
};

/// The row of `function` for `pc`, which must be inside it. Runs the programs of the CIE and the
/// FDE, within bounds, up to `pc`. Nothing if a program is malformed.
std::optional<CfiRow> row_of(std::span<const std::byte> section, const CfiFunction& function,
                             std::uint64_t pc);

}  // namespace overdue

#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// A place in a program's source. All text is safe to print.
struct SourceLine {
  /// Demangled, like Frame::symbol; empty if unknown. For a function that no other file can name,
  /// compilers write only the last part of the name: for the last function of a chain, the symbol
  /// says more.
  std::string function;
  std::string file;         ///< path as given to the compiler, below its folder; empty if unknown
  unsigned line = 0;        ///< 0 if unknown
  bool is_inlined = false;  ///< into the next function of the list, at the line given there
};

/// Limits on the cost of one file's DWARF.
struct LineLimits {
  std::uint64_t section_bytes = 1024u << 20;  ///< bytes of all DWARF sections, unpacked
  std::size_t units = 1u << 20;
  std::size_t ranges = 4u << 20;         ///< address ranges of all units
  std::size_t program_bytes = 4u << 20;  ///< bytes of the line program of one unit
  std::size_t entries = 1u << 20;        ///< entries searched for one address
  std::size_t depth = 256;               ///< depth of nested entries
  /// for one address, and as much again for reading the units
  std::chrono::milliseconds time{2000};
};

/// Source lines and inlined functions by address, from the DWARF of one ELF file: the program's own
/// or its separate debug file. Uses libdw, which has had faults on hostile files: only for the
/// resolver's sandbox, where a crash does no harm. Data that libdw would read without a bound, and
/// files that it would open itself (alternate and split debug files), are kept from it and not
/// searched. Nothing throws. Used by one thread.
class SourceLines {
 public:
  /// If the file is unreadable or has no DWARF within the limits, every look-up finds nothing.
  explicit SourceLines(Fd file, const LineLimits& limits = {});
  ~SourceLines();
  SourceLines(SourceLines&&) noexcept;
  SourceLines& operator=(SourceLines&&) noexcept;

  bool has_debug_info() const;
  /// The approximate memory in use, without the lines of units that were searched.
  std::size_t memory_bytes() const;
  /// The functions at a virtual address (as nm prints it, and as ElfSymbols::address_of() returns
  /// it), innermost first. Each is inlined into the next; the last is not inlined. Empty if
  /// unknown. For a return address, pass the address of the byte before it.
  std::vector<SourceLine> find(std::uint64_t address);

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace overdue

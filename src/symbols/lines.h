#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/fd.h"

namespace overdue {

/// A place in a program's source. All text is fit to be printed.
struct SourceLine {
  /// Demangled, as Frame::symbol is; empty where nobody knows. Of a function that no other file can
  /// name, compilers write its last name alone: for the last of a chain the symbol says more.
  std::string function;
  std::string file;   ///< as the compiler was told, below its folder; empty where nobody knows
  unsigned line = 0;  ///< 0 where nobody knows
  bool is_inlined = false;  ///< into the function behind it, at the line that is given there
};

/// The bounds of what the DWARF of one file may cost.
struct LineLimits {
  std::uint64_t section_bytes = 1024u << 20;  ///< of all its sections, unpacked
  std::size_t units = 1u << 20;
  std::size_t ranges = 4u << 20;         ///< of addresses, of all units
  std::size_t program_bytes = 4u << 20;  ///< of the line program of one unit
  std::size_t entries = 1u << 20;        ///< that are looked at for one address
  std::size_t depth = 256;               ///< of what is nested
  std::chrono::milliseconds time{2000};  ///< for one address; reading the units aside, as much
};

/// What the DWARF of one ELF file, the program's own or its separate debug file, says about
/// addresses. By libdw, which has had its share of faults on hostile files: to be used where a
/// crash is somebody's own, in the resolver's sandbox. What it would read without a bound, or open
/// by itself (alternate and split debug files), is kept from it: those are not looked into. Nothing
/// throws. Used by one thread.
class SourceLines {
 public:
  /// A file that cannot be read, or has no DWARF within the limits, knows nothing.
  explicit SourceLines(Fd file, const LineLimits& limits = {});
  ~SourceLines();
  SourceLines(SourceLines&&) noexcept;
  SourceLines& operator=(SourceLines&&) noexcept;

  bool has_debug_info() const;
  /// About what it keeps in memory, but for the lines of units that were asked for.
  std::size_t memory_bytes() const;
  /// The functions at a virtual address, as nm prints it and ElfSymbols::address_of() gives it: the
  /// innermost first, which is inlined into the next, and so on; the last is not. Empty where
  /// nobody knows. Of a return address, ask for the byte before it.
  std::vector<SourceLine> find(std::uint64_t address);

 private:
  class File;
  std::unique_ptr<File> file_;
};

}  // namespace overdue

#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "symbols/elf_image.h"
#include "symbols/load_segments.h"
#include "symbols/symbol_table.h"

namespace overdue {

/// Opens the regular file at an absolute path for reading; an empty Fd where that cannot be.
/// Whoever may not open files itself (a sandbox) asks somebody here.
using OpenFile = std::function<Fd(const std::string& path)>;

/// The bounds of what one ELF file may cost.
struct ElfLimits {
  std::size_t symbols = 4u << 20;
  std::size_t name_bytes = 256u << 20;           ///< of the names of functions
  std::uint64_t string_bytes = 512u << 20;       ///< of a string table
  std::size_t debugdata_bytes = 64u << 20;       ///< .gnu_debugdata, unpacked
  std::uint64_t debug_file_bytes = 2048u << 20;  ///< that are read to check a .gnu_debuglink
};

/// The functions of one ELF file, and where its code is. Everything that can be named is merged:
/// .symtab, .dynsym, PLT stubs ("read@plt"); in a file without .symtab also that of its separate
/// debug file or, if there is none, of .gnu_debugdata. The bytes are hostile, and none of them
/// makes the constructor throw or take more than its limits: what is damaged is left out.
class ElfSymbols {
 public:
  /// No symbols and no code.
  ElfSymbols() = default;
  /// `bytes` are read here and not needed later. Separate debug files are looked for with `open`,
  /// where there is one: by build id, then by .gnu_debuglink beside `path` (the file's own,
  /// absolute).
  explicit ElfSymbols(const FileBytes& bytes, const OpenFile& open = {},
                      const std::string& path = {}, const ElfLimits& limits = {});

  bool is_elf() const { return is_elf_; }
  /// Lower-case hexadecimal; empty without one.
  const std::string& build_id() const { return build_id_; }
  /// Whether there is a full symbol table; without one only exported functions have names.
  bool has_full_table() const { return has_full_table_; }
  /// Functions beyond the limits.
  std::size_t dropped() const { return dropped_; }

  /// The function at a virtual address (as nm prints them, and address_of() gives them).
  std::optional<SymbolOffset> find(std::uint64_t address) const { return table_.find(address); }
  /// The virtual address that a byte of the file is loaded at. Where segments share a page of the
  /// file, the executable one is meant.
  std::optional<std::uint64_t> address_of(std::uint64_t file_offset) const {
    return segments_.address_of(file_offset);
  }
  std::optional<std::uint64_t> file_offset_of(std::uint64_t address) const {
    return segments_.file_offset_of(address);
  }

  std::size_t memory_bytes() const;

 private:
  SymbolTable table_;
  LoadSegments segments_;
  std::string build_id_;
  bool is_elf_ = false;
  bool has_full_table_ = false;
  std::size_t dropped_ = 0;
};

/// Whether this is written as ElfSymbols::build_id() is: what others send becomes part of paths.
bool is_build_id(std::string_view text);

/// Where a separate debug file may be, best first.
std::vector<std::string> debug_file_paths_by_id(const std::string& build_id);
std::vector<std::string> debug_file_paths_by_link(const std::string& link, const std::string& path);

}  // namespace overdue

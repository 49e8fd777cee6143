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

/// Opens the regular file at an absolute path for reading; an empty Fd on failure. A process that
/// may not open files (a sandbox) asks another process here.
using OpenFile = std::function<Fd(const std::string& path)>;

/// Limits on the cost of one ELF file.
struct ElfLimits {
  std::size_t symbols = 4u << 20;
  std::size_t name_bytes = 256u << 20;           ///< bytes of function names
  std::uint64_t string_bytes = 512u << 20;       ///< bytes of a string table
  std::size_t debugdata_bytes = 64u << 20;       ///< .gnu_debugdata, unpacked
  std::uint64_t debug_file_bytes = 2048u << 20;  ///< bytes read to check a .gnu_debuglink
};

/// The functions of one ELF file, and the addresses of its code. Merges .symtab, .dynsym and PLT
/// stubs ("read@plt"); for a file without .symtab, also the .symtab of its separate debug file or,
/// if there is none, of .gnu_debugdata. The bytes are hostile: no content makes the constructor
/// throw or exceed its limits, and damaged parts are skipped.
class ElfSymbols {
 public:
  /// No symbols and no code.
  ElfSymbols() = default;
  /// Reads `bytes`, which are not needed later. Searches for separate debug files with `open`, if
  /// it is set: by build id, then by .gnu_debuglink beside `path` (the file's own, absolute).
  explicit ElfSymbols(const FileBytes& bytes, const OpenFile& open = {},
                      const std::string& path = {}, const ElfLimits& limits = {});

  bool is_elf() const { return is_elf_; }
  /// Lower-case hexadecimal; empty without one.
  const std::string& build_id() const { return build_id_; }
  /// Whether there is a full symbol table; without one only exported functions have names.
  bool has_full_table() const { return has_full_table_; }
  /// The number of functions beyond the limits.
  std::size_t dropped() const { return dropped_; }

  /// The function at a virtual address (as nm prints it, and as address_of() returns it).
  std::optional<SymbolOffset> find(std::uint64_t address) const { return table_.find(address); }
  /// The virtual address that a byte of the file is loaded at. If segments share a page of the
  /// file, the executable segment counts.
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

/// Whether `text` has the form of ElfSymbols::build_id(). Build ids of other origin become parts of
/// paths, too.
bool is_build_id(std::string_view text);

/// Possible paths of a separate debug file, best first.
std::vector<std::string> debug_file_paths_by_id(const std::string& build_id);
std::vector<std::string> debug_file_paths_by_link(const std::string& link, const std::string& path);

}  // namespace overdue

#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/symbol_table.h"

namespace overdue {

/// Functions of the kernel and its modules: one reading of /proc/kallsyms. Modules that are loaded
/// later, and BPF programs, need another reading. kallsyms knows no sizes: a function reaches to
/// the next symbol, and at most 256 KiB (the last one of a module has no next symbol near).
class KernelSymbols {
 public:
  /// Nothing is known: every look-up finds nothing.
  KernelSymbols() = default;
  /// From the text of a kallsyms file. Lines that make no sense are counted.
  static KernelSymbols parse(std::string_view text);
  /// Throws Error where the file cannot be read.
  static KernelSymbols read(const std::string& path = "/proc/kallsyms");

  struct Found {
    SymbolOffset symbol;
    std::string_view module;  ///< without brackets; empty for the kernel itself
  };
  std::optional<Found> find(std::uint64_t address) const;

  /// The kernel showed names but not one address: kernel.kptr_restrict, or no CAP_SYSLOG. Then
  /// nothing is found, rather than the wrong thing.
  bool are_addresses_hidden() const { return hidden_; }
  std::size_t malformed_lines() const { return malformed_; }
  std::size_t size() const { return table_.size(); }
  std::size_t memory_bytes() const;

 private:
  friend class KallsymsParser;
  /// From here to the next run, symbols are of this module.
  struct Run {
    std::uint64_t begin;
    std::uint32_t module;
  };
  SymbolTable table_;
  std::vector<Run> runs_;
  std::vector<std::string> modules_;
  bool hidden_ = false;
  std::size_t malformed_ = 0;
};

}  // namespace overdue

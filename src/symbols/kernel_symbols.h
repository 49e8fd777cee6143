#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "symbols/symbol_table.h"

namespace overdue {

/// The functions of the kernel and its modules, from one read of /proc/kallsyms. Modules and BPF
/// programs that are loaded later need another read. kallsyms has no sizes: a function extends to
/// the next symbol, at most 256 KiB (the last function of a module has no next symbol nearby).
class KernelSymbols {
 public:
  /// No symbols: every look-up finds nothing.
  KernelSymbols() = default;
  /// Parses the text of a kallsyms file; counts malformed lines.
  static KernelSymbols parse(std::string_view text);
  /// Throws Error if the file cannot be read.
  static KernelSymbols read(const std::string& path = "/proc/kallsyms");

  struct Found {
    SymbolOffset symbol;
    std::string_view module;  ///< without brackets; empty for the kernel itself
  };
  std::optional<Found> find(std::uint64_t address) const;

  /// Whether the kernel showed names but no address: kernel.kptr_restrict, or no CAP_SYSLOG. Every
  /// look-up then finds nothing.
  bool are_addresses_hidden() const { return hidden_; }
  std::size_t malformed_lines() const { return malformed_; }
  std::size_t size() const { return table_.size(); }
  std::size_t memory_bytes() const;

 private:
  friend class KallsymsParser;
  /// From `begin` to the next run, symbols belong to `module`.
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

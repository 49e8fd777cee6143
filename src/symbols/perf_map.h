#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/fd.h"
#include "symbols/symbol_table.h"

namespace overdue {

/// The functions that a JIT compiler lists in /tmp/perf-PID.map: lines of address and size in
/// hexadecimal, and a name. The compiler appends to the file and reuses memory, so of overlapping
/// entries the later one counts. Of a file over 64 MiB, only the end is read.
class PerfMap {
 public:
  /// Empty.
  PerfMap() = default;
  static PerfMap parse(std::string_view text);
  /// The map of a process, from its own /tmp and under its id in its own namespace (containers).
  /// Empty if there is none. Empty, with the reason in refused(), if the file is not a regular
  /// file, is reached through a symbolic link, or belongs to neither the process's user nor root.
  static PerfMap read(pid_t pid);
  /// read(pid) in two steps: a process that may open the file only opens it, and another process,
  /// which may not, reads it. The descriptor is empty if there is no file that may be read.
  struct File {
    Fd fd;
    uid_t owner = 0;  ///< the process's user
    std::string refused;
  };
  static File open(pid_t pid);
  /// Reads a file that is already open, of a process of user `owner`.
  static PerfMap read(const Fd& file, uid_t owner);

  std::optional<SymbolOffset> find(std::uint64_t address) const { return table_.find(address); }

  std::size_t malformed_lines() const { return malformed_; }
  /// Whether older entries were left out.
  bool is_cut() const { return is_cut_; }
  const std::string& refused() const { return refused_; }
  std::size_t size() const { return table_.size(); }
  std::size_t memory_bytes() const { return sizeof *this + table_.memory_bytes(); }

 private:
  SymbolTable table_;
  std::size_t malformed_ = 0;
  bool is_cut_ = false;
  std::string refused_;
};

}  // namespace overdue

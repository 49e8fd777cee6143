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

/// What a JIT compiler says it made, in /tmp/perf-PID.map: lines of address and size in hexadecimal
/// and a name. The compiler appends while it reuses memory, so where entries overlap the later one
/// counts. Of a file over 64 MiB the end is read.
class PerfMap {
 public:
  /// Empty.
  PerfMap() = default;
  static PerfMap parse(std::string_view text);
  /// The map of a process, from its own /tmp and under the id it knows itself by (containers).
  /// Empty where there is none, and, with refused() saying why, where the file is no regular file,
  /// is reached through a symbolic link, or belongs to neither the process's user nor root.
  static PerfMap read(pid_t pid);
  /// The same in two steps: somebody who may open it does that and no more, and another one, who
  /// may not, reads it. An empty descriptor where there is none that may be read.
  struct File {
    Fd fd;
    uid_t owner = 0;  ///< the process's user
    std::string refused;
  };
  static File open(pid_t pid);
  /// One that is open already, of a process of `owner`.
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

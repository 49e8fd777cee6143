#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/latency_table.h"
#include "core/session_info.h"
#include "syscalls/classes.h"

namespace overdue {

/// The content of a report of system calls: the same for `syscalls` and `report`.
struct ViewOptions {
  std::vector<std::string> only;  ///< values of -e
  std::vector<std::string> by;
  std::optional<std::string> sort;
  std::int64_t top = 0;  ///< 0: all rows
  bool calls = false;
  bool histograms = false;
  bool discover = false;

  /// Throws Error (exit status 2) for an invalid value or conflicting options, so that nothing is
  /// measured or overwritten for a report that cannot be shown.
  void check() const;
  /// Throws Error (exit status 2) for an unknown key.
  GroupBy group_by() const;
  std::string sort_column() const { return sort.value_or("total"); }
  /// `top`, checked.
  std::size_t row_limit() const;
  /// The calls that -e names; nothing if -e was not given.
  std::optional<SyscallSet> wanted(const Names& names = {}) const;
};

}  // namespace overdue

#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/finding.h"

namespace overdue {

/// Counts the findings that are not shown because their waits were intended, by call, with the
/// longest of each. Used by one thread.
class LeftOut {
 public:
  /// `is_known`: the call was counted before, while it was open.
  void add(const Finding& finding, bool is_known);
  bool empty() const { return counts_.empty(); }
  /// A line for each reason, for the report.
  std::vector<std::string> notes() const;

 private:
  struct Count {
    std::uint64_t count = 0;
    std::uint64_t longest_ns = 0;
  };
  std::map<std::string, std::map<std::string, Count>> counts_;  ///< by purpose and name
};

}  // namespace overdue

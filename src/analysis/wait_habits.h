#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/finding.h"

namespace overdue {

/// Where the threads of a pool wait that no table knows: several threads of a process come back to
/// the same place again and again, and none of them waits with fewer callers anywhere else. Clients
/// of one server that wait for its answers look the same: what is found here is likely, not known.
/// Keeps a bounded number of places. One thread.
class WaitHabits {
 public:
  /// Whether it is such a wait, by the waits before it; remembers it. `finding` has a complete
  /// stack.
  bool is_habit(const Finding& finding);

 private:
  struct Place {
    std::uint64_t waits = 0;
    std::set<std::uint32_t> threads;  ///< two are enough
  };
  using ThreadKey = std::pair<std::uint32_t, std::uint32_t>;  // process and thread

  std::unordered_map<std::size_t, Place> places_;
  std::map<ThreadKey, std::size_t> least_depth_;
};

}  // namespace overdue

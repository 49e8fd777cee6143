#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "core/finding.h"

namespace overdue {

/// Finds waits of thread pools that no table knows: several threads of a process come back to the
/// same place again and again, and none of them waits with fewer callers anywhere else. Clients of
/// one server that wait for its answers look the same, so the result is likely, not certain. Keeps
/// a bounded number of places. Used by one thread.
class WaitHabits {
 public:
  /// Whether the wait of `finding` is a habit, judged by earlier waits; counts this wait for later
  /// ones. `finding` has a complete stack.
  bool is_habit(const Finding& finding);
  /// Counts a wait that the thread asked for: a thread that sleeps with fewer callers than it waits
  /// for others does not wait for work there.
  void add_sleep(const Finding& finding);
  /// Counts a wait for events. `came`: events ended it.
  void add_events(const Finding& finding, bool came);
  /// Whether the thread has waited for events with fewer callers: it has a loop for them, and holds
  /// the loop up with this wait.
  bool holds_up_loop(const Finding& finding) const;
  /// The same for a wait that the thread asked for, which only events that come are late for. A
  /// loop that sleeps itself between two looks at its events does so on purpose.
  bool sleeps_below_loop(const Finding& finding) const;

 private:
  struct Place {
    std::uint64_t waits = 0;
    std::set<std::uint32_t> threads;  ///< at most two thread ids
  };
  /// A thread's waits for events.
  struct Loop {
    std::size_t depth = 0;      ///< least number of frames
    std::size_t own_depth = 0;  ///< least number of frames of the program itself
    bool had_events = false;
  };
  using ThreadKey = std::pair<std::uint32_t, std::uint32_t>;  // process and thread

  std::unordered_map<std::size_t, Place> places_;
  static void add_depth(std::map<ThreadKey, std::size_t>& least, const Finding& finding);

  std::map<ThreadKey, std::size_t> least_depth_;
  std::map<ThreadKey, Loop> loops_;
};

}  // namespace overdue

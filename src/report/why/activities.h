#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "report/why/root.h"

namespace overdue {

/// What the holders of one lock did while others waited for it, added up. Memory is bounded; used
/// by one thread.
class Activities {
 public:
  /// Takes `ns` of a wait. Without a thread, nothing is known of its holder.
  void add(const Root& root, std::uint64_t ns);
  bool empty() const { return all_ns_ == 0; }

  struct Most {
    Root root;  ///< of one wait; its activity is that of all these waits
    std::uint64_t ns = 0;
  };
  /// What threads of one name did for most of the time: "ran in scan ← main" if they did so for
  /// more than half of all time, else without a place: "ran".
  Most most() const;

 private:
  /// The name of the threads, with * for numbers, and the activity.
  using Key = std::pair<std::string, std::string>;
  using Sums = std::map<Key, Most>;
  static void add_to(Sums& sums, const Root& root, Key key, std::uint64_t ns);

  Sums detailed_, broad_;
  std::uint64_t all_ns_ = 0;
};

}  // namespace overdue

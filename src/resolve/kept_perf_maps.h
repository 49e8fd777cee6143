#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <list>

#include "base/time.h"
#include "symbols/perf_map.h"

namespace overdue {

/// Perf maps of processes that make code while they run, open: one that has ended has no /tmp to
/// look in any more. Beyond the bound, the one heard of longest ago is closed. Used by one thread.
class KeptPerfMaps {
 public:
  using Open = std::function<PerfMap::File(pid_t)>;
  explicit KeptPerfMaps(Open open = &PerfMap::open, std::size_t most = 64)
      : open_(std::move(open)), most_(most) {}

  /// The process has new code of its own making at that time. There may be no map yet.
  void heard_of(pid_t pid, KernelTime at);
  /// A runtime may write its map long after the code, as when it is asked to: where there was none,
  /// looks again, ever more rarely.
  void look_again(KernelTime now);
  /// A stack of the process is to be named, and the process may be gone by then: looks at once, if
  /// it has made code and had no map.
  void wanted(pid_t pid, KernelTime now);
  /// The process is another program now, or another process.
  void forget(pid_t pid);
  /// Opened anew, or, where the process has gone, the one that was kept.
  PerfMap::File open(pid_t pid) const;

 private:
  struct Kept {
    pid_t pid = 0;
    KernelTime tried_at{};
    Duration rest{};  ///< until the next try
    PerfMap::File file{};
  };
  Kept* find(pid_t pid);
  void look(Kept& kept, KernelTime now);

  Open open_;
  std::size_t most_;
  std::list<Kept> kept_;  ///< heard of last in front
};

}  // namespace overdue

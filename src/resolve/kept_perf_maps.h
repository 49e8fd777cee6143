#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <list>

#include "base/time.h"
#include "symbols/perf_map.h"

namespace overdue {

/// Open perf maps of processes that generate code: after the end of a process, its /tmp is out of
/// reach. Beyond the bound, the map of the process heard of longest ago is closed. Used by one
/// thread.
class KeptPerfMaps {
 public:
  using Open = std::function<PerfMap::File(pid_t)>;
  explicit KeptPerfMaps(Open open = &PerfMap::open, std::size_t most = 64)
      : open_(std::move(open)), most_(most) {}

  /// Notes that the process generated code at time `at`. There may be no map yet.
  void heard_of(pid_t pid, KernelTime at);
  /// Looks again for missing maps, ever more rarely: a runtime may write its map long after the
  /// code, for example on request.
  void look_again(KernelTime now);
  /// Announces that a stack of the process will be named, perhaps after its end. Looks at once if
  /// the process has generated code and had no map.
  void wanted(pid_t pid, KernelTime now);
  /// Forgets the process: the id now stands for another program or another process.
  void forget(pid_t pid);
  /// The map, opened anew; the kept map if the process is gone.
  PerfMap::File open(pid_t pid) const;

 private:
  struct Kept {
    pid_t pid = 0;
    KernelTime tried_at{};
    Duration rest{};  ///< time until the next try
    PerfMap::File file{};
  };
  Kept* find(pid_t pid);
  void look(Kept& kept, KernelTime now);

  Open open_;
  std::size_t most_;
  std::list<Kept> kept_;  ///< most recently heard of first
};

}  // namespace overdue

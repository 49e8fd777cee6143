#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "bpf/osnoise.h"
#include "core/record.h"

namespace overdue {

/// Durations of 0 are none.
struct BusyOptions {
  std::vector<std::uint32_t> cpus;  ///< one thread on each; the process must be allowed there
  Duration period = std::chrono::seconds(1);
  Duration runtime = std::chrono::milliseconds(900);  ///< of each period; at most that
  Duration threshold = std::chrono::microseconds(1);  ///< pauses as long as this are noise
  Duration stop_single{};                             ///< all end after a pause as long as this
  Duration stop_total{};                              ///< … after a period with as much noise
  int priority = 0;                                   ///< of SCHED_FIFO; 0: ordinary threads
  bool in_turn = false;  ///< one at a time: a period of the first, then one of the second, …
};

/// Busy threads that read the clock again and again, and notice when they could not: what
/// OsnoiseProbe delivers. They take no locks and no memory once they run, and all memory of the
/// process is locked. Threads of this process: whatever ends it ends them. Used by one thread.
class BusyThreads {
 public:
  /// Starts them, each asleep until begin(). Throws Error where the machine does not allow it.
  explicit BusyThreads(const BusyOptions& options);
  /// Ends them.
  ~BusyThreads();

  const BusyOptions& options() const { return options_; }
  /// Lets them go. `shared`: where the programs of a CPU write down what has it, in the order of
  /// `cpus`; `armed`: they pause while that is 0. Both must live until end().
  void begin(const std::vector<osnoise_cpu*>& shared, const u32& armed);
  /// They stop looking, tell of what they have seen, and end.
  void end();
  /// Delivers what they have told since the last call: osnoise_gap and osnoise_sample records,
  /// in the order of time.
  void drain(const RecordHandler& handler);

  /// Records that had no room: drain() was called too seldom.
  std::uint64_t lost() const;
  /// Pauses in which another thread ran that no program was told of.
  std::uint64_t unseen() const;
  /// What a CPU's thread has done; after end().
  struct State {
    std::uint32_t cpu = 0;
    bool has_run = false;  ///< on that CPU, between begin() and end()
    std::uint64_t periods = 0;
  };
  std::vector<State> states() const;
  /// A CPU whose programs noticed nothing when its thread slept and woke: they do not run there.
  std::optional<std::uint32_t> blind_cpu() const;
  /// Pieces of noise beyond the latest OSNOISE_NOISES_MAX of their pause.
  std::uint64_t untold() const;

 private:
  struct Worker;
  std::uint64_t sum_of(std::atomic<std::uint64_t> Worker::* count) const;
  bool is_over() const { return stopping_.load(std::memory_order_relaxed); }
  bool is_paused() const { return __atomic_load_n(armed_, __ATOMIC_RELAXED) == 0; }

  BusyOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> over_limit_ = false;
  std::atomic<int> begun_ = 0;
  std::uint64_t begin_ns_ = 0;  ///< before begun_
  const u32* armed_ = nullptr;
};

}  // namespace overdue

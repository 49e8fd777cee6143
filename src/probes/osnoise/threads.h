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

/// A duration of 0 turns its option off.
struct BusyOptions {
  std::vector<std::uint32_t> cpus;  ///< one thread on each; the process must be allowed there
  Duration period = std::chrono::seconds(1);
  Duration runtime = std::chrono::milliseconds(900);  ///< busy time per period; at most the period
  Duration threshold = std::chrono::microseconds(1);  ///< shortest clock gap that is noise
  Duration stop_single{};                             ///< all threads end after a noise this long
  Duration stop_total{};                              ///< … after a period with this much noise
  int priority = 0;                                   ///< of SCHED_FIFO; 0: ordinary threads
  bool origins = false;  ///< records say what started the threads that make noise
  bool in_turn = false;  ///< one at a time: a period of the first, then one of the second, …
};

/// Busy threads that read the clock again and again, and notice when they could not: the workload
/// of OsnoiseProbe. They take no locks and allocate no memory once they run, and all memory of the
/// process is locked. They are threads of this process and end with it. Used by one thread.
class BusyThreads {
 public:
  /// Starts the threads, each asleep until begin(). Throws Error if the machine does not allow
  /// them.
  explicit BusyThreads(const BusyOptions& options);
  /// Ends the threads.
  ~BusyThreads();

  const BusyOptions& options() const { return options_; }
  /// Releases the threads. `shared`: where the programs of a CPU write what has it, in the order of
  /// `cpus`. `armed`: the threads pause while it is 0. Both must live until end().
  void begin(const std::vector<osnoise_cpu*>& shared, const u32& armed);
  /// Makes the threads stop looking, report what they have seen, and end; waits for them.
  void end();
  /// Delivers the threads' osnoise_gap and osnoise_sample records since the last call, in time
  /// order.
  void drain(const RecordHandler& handler);

  /// Number of records without room: drain() was called too seldom.
  std::uint64_t lost() const;
  /// Number of noises in which another thread ran and no program saw it.
  std::uint64_t unseen() const;
  /// What a CPU's thread has done; valid after end().
  struct State {
    std::uint32_t cpu = 0;
    bool has_run = false;  ///< on that CPU, between begin() and end()
    std::uint64_t periods = 0;
  };
  std::vector<State> states() const;
  /// A CPU whose programs noticed nothing when its thread slept and woke up: they do not run there.
  std::optional<std::uint32_t> blind_cpu() const;
  /// Number of interferences beyond the latest OSNOISE_NOISES_MAX of their noise.
  std::uint64_t unreported() const;

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
  std::uint64_t begin_ns_ = 0;  ///< written before begun_
  const u32* armed_ = nullptr;
};

}  // namespace overdue

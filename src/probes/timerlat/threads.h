#pragma once

#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/time.h"
#include "bpf/timerlat.h"

namespace overdue {

struct TimerThreadOptions {
  std::vector<std::uint32_t> cpus;  ///< one thread on each; the process must be allowed there
  Duration period = std::chrono::milliseconds(1);
  int priority = 95;  ///< of SCHED_FIFO, 1 … 99
  /// They end where for so long no ordinary thread has run on any CPU: the machine is starving.
  Duration starved_after = std::chrono::seconds(10);
};

/// Real-time threads that sleep until an absolute time, again and again: what TimerlatProbe looks
/// at. They take no memory and no locks once they run, and all memory of the process is locked.
/// Threads of this process: whatever ends it ends them. Used by one thread.
class TimerThreads {
 public:
  /// Starts them, each asleep until begin(). Throws Error where the machine does not allow it, and
  /// says what would: privileges, the limits of real time, CPUs that are not ours.
  explicit TimerThreads(const TimerThreadOptions& options);
  /// Ends them, within a period.
  ~TimerThreads();

  /// Lets them go. Each writes into its slot, in the order of `cpus`, until it has ended; all end
  /// by themselves as soon as `stopping` is not 0.
  void begin(const std::vector<timerlat_slot*>& slots, const u32& stopping);
  /// They end as soon as they are next awake.
  void stop() { stopping_ = true; }
  /// stop(), and waits.
  void end();

  /// Periods that passed while a thread was still late from one before; of each CPU, in their
  /// order. They are no activations.
  std::vector<std::uint64_t> missed() const;
  /// How often each was awake again, in the same order.
  std::vector<std::uint64_t> wakings() const;
  /// They have ended because the machine was starving.
  bool starved() const { return starved_; }

 private:
  struct Worker;
  void watch();
  bool is_starving(std::uint64_t now_ns);

  TimerThreadOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::atomic<bool> stopping_ = false;
  std::atomic<bool> starved_ = false;
  std::atomic<int> begun_ = 0;
  std::atomic<std::uint64_t> alive_ns_ = 0;  ///< when an ordinary thread last ran
  std::uint64_t begin_ns_ = 0;               ///< before begun_
  const u32* over_limit_ = nullptr;
  std::mutex watching_;  ///< no real-time thread takes it
  std::condition_variable ended_;
  pthread_t watcher_{};
  bool has_watcher_ = false;
};

/// Throws Error where this machine or our cgroup has no time for real-time threads: they would not
/// run, or be stopped for most of each second. `proc` and `sys` are where a test keeps its own.
void check_real_time_budget(const std::string& proc = "/proc", const std::string& sys = "/sys");

}  // namespace overdue

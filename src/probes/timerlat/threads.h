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
  /// The threads end if no ordinary thread has run on any CPU for this long: the machine starves.
  Duration starved_after = std::chrono::seconds(10);
};

/// Real-time threads that sleep until an absolute time, again and again: the workload of
/// TimerlatProbe. They allocate no memory and take no locks once they run, and all memory of the
/// process is locked. They are threads of this process and end with it. Used by one thread.
class TimerThreads {
 public:
  /// Starts the threads, each asleep until begin(). Throws Error if the machine does not allow
  /// them, with a hint at what would: privileges, the limits of real time, CPUs that the process
  /// may use.
  explicit TimerThreads(const TimerThreadOptions& options);
  /// Ends the threads, within a period.
  ~TimerThreads();

  /// Releases the threads. Each writes into its slot, in the order of `cpus`, until it has ended.
  /// All end by themselves as soon as `stopping` is not 0.
  void begin(const std::vector<timerlat_slot*>& slots, const u32& stopping);
  /// Makes the threads end when they next wake up.
  void stop() { stopping_ = true; }
  /// Calls stop(), and waits for the threads.
  void end();

  /// For each CPU, in the order of `cpus`: periods that passed while its thread was still late from
  /// an earlier one. Such a period is no activation.
  std::vector<std::uint64_t> missed() const;
  /// For each CPU, in the same order: how often its thread has woken up.
  std::vector<std::uint64_t> wakings() const;
  /// Whether the threads have ended because the machine starved.
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
  std::uint64_t begin_ns_ = 0;               ///< written before begun_
  const u32* over_limit_ = nullptr;
  std::mutex watching_;  ///< no real-time thread takes it
  std::condition_variable ended_;
  pthread_t watcher_{};
  bool has_watcher_ = false;
};

/// Throws Error if this machine or the process's cgroup has no time for real-time threads: they
/// would not run, or be stopped for most of each second. Tests replace `proc` and `sys`.
void check_real_time_budget(const std::string& proc = "/proc", const std::string& sys = "/sys");

}  // namespace overdue

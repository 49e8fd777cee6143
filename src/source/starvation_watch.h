#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>

#include "base/time.h"

namespace overdue {

/// Notices that no CPU has time for ordinary threads: an ordinary thread records every tenth of a
/// second that it has run, and a real-time thread checks that record.
class StarvationWatch {
 public:
  /// Calls `end` once, from the real-time thread with this SCHED_FIFO priority, if the ordinary
  /// thread has not run for `patience`. If no real-time thread is allowed, nothing is watched.
  StarvationWatch(int priority, Duration patience, std::function<void()> end);
  ~StarvationWatch();
  StarvationWatch(const StarvationWatch&) = delete;
  StarvationWatch& operator=(const StarvationWatch&) = delete;

  bool starved() const { return starved_; }

 private:
  void live();
  void watch(int priority);

  Duration patience_;
  std::function<void()> end_;
  std::atomic<bool> stopping_ = false, starved_ = false;
  std::atomic<std::uint64_t> alive_ns_;
  std::thread ordinary_, real_time_;
};

/// Throws the Error of a run that starvation ended.
[[noreturn]] void throw_starved();

}  // namespace overdue

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/sched.h"
#include "bpf/signals.h"

namespace overdue {

/// Thread or interrupt that ended a wait, as recorded in the kernel.
struct RawWaker {
  /// Header of the waker or of the interrupted thread. Name and process are empty where only the
  /// thread's id is known.
  event_header header{};
  std::uint16_t context = WAKER_UNKNOWN;
  std::uint16_t number = 0;
  std::string irq_name;
  std::string disk;                  ///< disk whose request the interrupt has completed
  std::vector<std::uint64_t> stack;  ///< addresses in the kernel, innermost first
  ledger_parts sums{};               ///< sums of the waker, a thread, until the wake-up
  std::uint64_t throttled_sum_ns = 0;
  std::uint64_t ran_since_ns = 0;  ///< begin of the waker's run until the wake-up; 0: unknown
};

/// A wait of any thread of the machine.
struct RawWait {
  std::uint64_t id = 0;  ///< ascending
  sched_wait fixed{};
  std::vector<std::uint64_t> stack;
  std::optional<RawWaker> waker;
  std::unique_ptr<const sched_throttle> throttle;  ///< null: not throttled
  std::vector<sched_runs> runs;  ///< one for each CPU; fixed.behind_ns instead of a short last one
  std::unique_ptr<const stop_signal> stop;  ///< last stop signal to the process before the wait

  std::uint64_t out_ns() const { return fixed.out_ns; }
  std::uint64_t in_ns() const { return fixed.header.time_ns; }
  std::uint64_t length_ns() const { return in_ns() - out_ns(); }
  /// Whether a record of the same thread belongs to this wait.
  bool has(const sched_runs& other) const {
    return other.header.time_ns > out_ns() && other.header.time_ns <= in_ns();
  }
  /// End of the blocked time: the wake-up, or else the end of the wait.
  std::uint64_t unblocked_ns() const;
  std::uint64_t blocked_ns() const;
  /// Moment from which on the thread was runnable, throttled or not.
  std::uint64_t ready_since_ns() const { return out_ns() + blocked_ns(); }
  /// Runnable time in which a quota kept the thread from running.
  std::uint64_t throttled_ns() const;
  /// Time in the run queue: woken, or no longer throttled, and waiting for a CPU.
  std::uint64_t runqueue_ns() const;
  bool could_run_all_along() const;
};

}  // namespace overdue

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/sched.h"
#include "bpf/signals.h"

namespace overdue {

/// What ended a wait, as the kernel has it.
struct RawWaker {
  event_header header{};  ///< the waker's, or of who was interrupted; name and process are empty
                          ///< where only the thread's id is known
  std::uint16_t context = WAKER_UNKNOWN;
  std::uint16_t number = 0;
  std::string irq_name;
  std::string disk;                  ///< whose request an interrupt has completed
  std::vector<std::uint64_t> stack;  ///< addresses in the kernel, innermost first
  ledger_parts sums{};               ///< of a thread, until it woke the other
  std::uint64_t throttled_sum_ns = 0;
  std::uint64_t ran_since_ns = 0;  ///< it ran from then until it woke the other; 0: not known
};

/// A wait of any thread of the machine.
struct RawWait {
  std::uint64_t id = 0;  ///< ascending
  sched_wait fixed{};
  std::vector<std::uint64_t> stack;
  std::optional<RawWaker> waker;
  std::unique_ptr<const sched_throttle> throttle;  ///< null: no quota was in the way
  std::vector<sched_runs> runs;  ///< one for each CPU; fixed.behind_ns stands for a short last one
  std::unique_ptr<const stop_signal> stop;  ///< the last one sent to its process before it began

  std::uint64_t out_ns() const { return fixed.out_ns; }
  std::uint64_t in_ns() const { return fixed.header.time_ns; }
  std::uint64_t length_ns() const { return in_ns() - out_ns(); }
  /// Whether a record of the same thread falls into this wait.
  bool has(const sched_runs& other) const {
    return other.header.time_ns > out_ns() && other.header.time_ns <= in_ns();
  }
  /// When it stopped being blocked: woken, or else running again.
  std::uint64_t unblocked_ns() const;
  std::uint64_t blocked_ns() const;
  /// Since when it could run, but for a quota.
  std::uint64_t ready_since_ns() const { return out_ns() + blocked_ns(); }
  /// Not blocked, but kept from running by a quota.
  std::uint64_t throttled_ns() const;
  /// Woken, or let go by a quota, and waiting for a CPU.
  std::uint64_t runqueue_ns() const;
  bool could_run_all_along() const;
};

}  // namespace overdue

#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/time.h"
#include "bpf/span.h"

namespace overdue {

/// Thresholds of system calls that are late in great numbers, because a program asks for their
/// waits: sleeps, and event loops. If such a call is most of what is late, its threshold rises
/// alone, and locks, disks and the network are still examined from the general threshold on. It
/// rises at once to where few of the counted calls are late: a program with thousands of threads
/// makes more records in a second than are examined in ten. One thread.
class RisingCalls {
 public:
  /// Counts a late operation.
  void count(const span_record& span);
  /// Raises the threshold of the call that is more than half of what was counted since the last
  /// time. `general`: the threshold of the others. False: there is no such call, or its threshold
  /// is as high as such a threshold gets.
  bool rise(Duration general);
  /// Forgets what was counted.
  void forget();
  /// By number of the native call.
  const std::map<std::uint32_t, Duration>& thresholds() const { return thresholds_; }
  /// ", clock_nanosleep from 1.02s on"; empty: no threshold has risen.
  std::string text() const;

 private:
  /// Calls by the number of bits of their latency in ns.
  using Latencies = std::array<std::uint64_t, 65>;
  static std::uint64_t sum(const Latencies& late);
  /// How many may have taken as long as `threshold`.
  static std::uint64_t late_from(const Latencies& late, Duration threshold);

  std::map<std::uint32_t, Latencies> late_;  ///< by number, since the last time
  std::uint64_t all_ = 0;
  std::map<std::uint32_t, Duration> thresholds_;
};

}  // namespace overdue

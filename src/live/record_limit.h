#pragma once

#include <cstdint>
#include <optional>

#include "base/time.h"

namespace overdue {

/// Keeps the records of late operations, and of the waits that explain them, to a number that costs
/// the target little, by what is recorded and examined. One thread.
class RecordLimit {
 public:
  static constexpr Duration between_counts = std::chrono::milliseconds(100);
  /// Records in this time.
  static constexpr std::uint64_t records_per_count = 250;
  /// No threshold rises above this.
  static constexpr Duration highest_threshold = std::chrono::milliseconds(100);

  struct Counts {
    std::uint64_t records = 0;  ///< read
    std::uint64_t late = 0;     ///< of these: late operations
    std::uint64_t lost = 0;     ///< not read, because a ring was full
  };
  /// How many doublings these counts of one period ask for; 0: there are not too many records.
  static int doublings(const Counts& counts);

  /// First fewer short waits, then fewer late operations. No threshold: short waits only.
  void examine_less(int doublings, std::optional<Duration>& threshold);
  /// The shortest recorded wait is this part of the shortest threshold.
  std::uint64_t wait_part() const { return wait_part_; }

 private:
  /// At first, the recorded waits explain a stall except for a few percent, and short waits cost
  /// next to nothing.
  std::uint64_t wait_part_ = 8;
};

}  // namespace overdue

#pragma once

#include <cstdint>
#include <vector>

#include "base/time.h"
#include "bpf/histogram.h"

namespace overdue {

/// A distribution of latencies: exact count, total, minimum and maximum; quantiles within 6.25 %.
/// Same buckets as in BPF programs (bpf/histogram.h), with 64-bit counts. Value type; not
/// thread-safe.
class Histogram {
 public:
  void add(std::uint64_t value_ns, std::uint64_t times = 1);
  void merge(const latency_histogram& wire);
  void merge(const Histogram& other);

  std::uint64_t count() const { return count_; }
  std::uint64_t total_ns() const { return total_ns_; }
  std::uint64_t min_ns() const { return count_ ? min_ns_ : 0; }
  std::uint64_t max_ns() const { return max_ns_; }
  std::uint64_t mean_ns() const { return count_ ? total_ns_ / count_ : 0; }

  /// The value at or below which `fraction` (0 … 1] of all values lie: the upper bound of its
  /// bucket, never beyond the exact minimum and maximum. 0 if empty.
  std::uint64_t quantile_ns(double fraction) const;

  /// A quantile and its certainty: with up to `certain_up_to` more values of any size, the quantile
  /// would still fall into the same bucket. A larger loss could have changed it.
  struct Quantile {
    std::uint64_t value_ns = 0;
    std::uint64_t certain_up_to = 0;
    bool certain(std::uint64_t lost) const { return lost <= certain_up_to; }
  };
  Quantile quantile(double fraction) const;

  /// Standard deviation from bucket mid-points around the exact mean (error within 6.25 % of the
  /// values).
  std::uint64_t stddev_ns() const;

  std::uint64_t bucket_count(std::uint32_t bucket) const;

  /// Bounds of a bucket in ns: values v with low <= v < high. The last bucket is open: UINT64_MAX.
  static std::uint64_t bucket_low_ns(std::uint32_t bucket);
  static std::uint64_t bucket_high_ns(std::uint32_t bucket);

  bool operator==(const Histogram&) const = default;

 private:
  struct Bucket {
    std::uint32_t index;
    std::uint64_t count;
    bool operator==(const Bucket&) const = default;
  };

  void add_to_bucket(std::uint32_t index, std::uint64_t times);

  std::uint64_t count_ = 0;
  std::uint64_t total_ns_ = 0;
  std::uint64_t min_ns_ = UINT64_MAX;
  std::uint64_t max_ns_ = 0;
  std::vector<Bucket>
      buckets_;  // non-empty ones, by index: few of 656 are, and there are many rows
};

}  // namespace overdue

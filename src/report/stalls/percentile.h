#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/time.h"
#include "bpf/histogram.h"

namespace overdue {

/// A percentile as a threshold: of the operations of a kind, those at or over it are late.
struct Percentile {
  std::uint32_t ppm = 0;  ///< in millionths: 990,000 for p99

  auto operator<=>(const Percentile&) const = default;
  /// The part of the operations that is late: 0.01 for p99.
  double late_share() const { return (1e6 - ppm) / 1e6; }
  /// The number of operations from which on there is a threshold.
  std::uint64_t least_operations() const;
};

/// `p99`, `p99.95`.
std::string to_text(Percentile percentile);

/// Parses a value of -T that begins with `p`; empty for other values. Throws Error (exit status 2)
/// if it is no percentile from p50 to p99.99.
std::optional<Percentile> parse_percentile(std::string_view value);

/// Chooses the threshold of one kind of operation from the latencies that the kernel counts.
///
/// Waits for work and for time are no delays, but the kernel cannot tell them from other waits.
/// Among the operations that were late, the view finds them. Their share, by power of two of the
/// latency, is taken to be that of all operations of such latencies, and does not count. A
/// threshold that idle waits have made long so becomes shorter, until what is late is delays. If
/// nearly all operations are idle, the slowest of these are examined: they may become delays.
class PercentileThreshold {
 public:
  explicit PercentileThreshold(Percentile asked) : asked_(asked) {}

  /// Notes an operation that was late. `is_idle`: it is no delay.
  void examined(std::uint64_t latency_ns, bool is_idle);
  /// Chooses anew. `counted`: all operations by bucket (bpf/histogram.h). `late_share`: of the
  /// operations, at most that of the asked percentile.
  void choose(std::span<const std::uint64_t, HISTOGRAM_BUCKETS> counted, double late_share);
  /// Counts the operations without choosing.
  void count(std::span<const std::uint64_t, HISTOGRAM_BUCKETS> counted);
  /// From now on, choose() is for another percentile.
  void ask(Percentile asked) { asked_ = asked; }

  Percentile asked() const { return asked_; }
  /// The last choice; empty: there have been too few operations. No percentile, if operations()
  /// are too few.
  std::optional<Duration> threshold() const { return threshold_; }
  std::uint64_t operations() const { return operations_; }  ///< without idle()
  std::uint64_t idle() const { return idle_; }              ///< estimated

 private:
  struct Examined {
    std::uint64_t all = 0, idle = 0;
  };
  static constexpr std::size_t octaves = HISTOGRAM_BUCKETS / HISTOGRAM_SUB_BUCKETS;

  /// The part of the operations in `bucket` that may be delays, 0 to 1.
  double counting_share(std::size_t bucket) const;

  Percentile asked_;
  std::array<Examined, octaves> examined_{};
  std::optional<Duration> threshold_;
  std::uint64_t operations_ = 0, idle_ = 0;
};

}  // namespace overdue

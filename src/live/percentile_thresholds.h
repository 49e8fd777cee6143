#pragma once

#include <functional>
#include <map>
#include <vector>

#include "core/record.h"
#include "kernel/latency_counts.h"
#include "live/span_choice.h"
#include "report/stalls/chosen.h"
#include "report/stalls/thresholds.h"

namespace overdue {

/// Chooses the thresholds of a live session that are percentiles: reads the latencies that the
/// session's programs count, and makes a record of each choice. Used by one thread.
class PercentileThresholds {
 public:
  /// Throws Error if the kernel refuses the counts.
  PercentileThresholds(const Thresholds& thresholds, const SpanChoice& spans);

  /// Makes the objects that get `maps` count.
  void add_to(SharedMaps& maps) const { counts_.add_to(maps); }
  /// Whether the session counts spans of this kind.
  bool counts(span_kind kind) const { return (kinds_ & kinds_of({kind})) != 0; }
  /// The percentiles of `thresholds` hold from the next choice on.
  void change(const Thresholds& thresholds) { thresholds_ = thresholds; }

  /// Operations count from `start` on.
  void armed(KernelTime start) { start_ = start; }
  /// Notes an operation that was late, and whether it is no delay.
  void examined(const MeasuredKind& kind, std::uint64_t latency_ns, bool is_idle);
  /// Chooses anew from all that has been counted. Returns whether a threshold has changed.
  bool choose(KernelTime now);
  /// Delivers a record for each threshold that has changed since the last call, from `now` on.
  void report(KernelTime now, const RecordHandler& handler);
  /// Delivers a record for all that was counted, at the end of the session.
  void report_all(KernelTime end, const RecordHandler& handler);
  /// More is late than can be examined at little cost: from now on, half as much.
  void halve();

  /// The threshold of these operations; empty: none has been chosen.
  std::optional<Duration> of(const MeasuredKind& kind) const;
  /// The shortest threshold of spans of `kinds`; Duration::max() if there is none.
  Duration least(const std::vector<span_kind>& kinds) const;

 private:
  struct Kind {
    PercentileThreshold threshold;
    std::optional<Duration> reported{};
  };

  MeasuredKind kind_of(u32 slot) const;
  /// Counts the operations of each kind whose threshold is a percentile.
  void count();
  /// Fewer are late if the asked percentiles would mean more than can be examined at little cost.
  void limit_late(KernelTime now);
  void deliver(const MeasuredKind& kind, const PercentileThreshold& threshold, KernelTime time,
               u16 flags, const RecordHandler& handler) const;

  Thresholds thresholds_;
  std::vector<std::string> pairs_;
  SpanKinds kinds_;
  LatencyCounts counts_;
  std::map<MeasuredKind, Kind> chosen_;
  KernelTime start_{};
  double scale_ = 1;  ///< part of the asked share that is late
};

}  // namespace overdue

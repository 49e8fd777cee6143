#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/even_histogram.h"
#include "core/histogram.h"
#include "core/section.h"
#include "report/interval.h"
#include "report/timerlat/figures.h"

namespace overdue {

/// Describes the latencies of timers in one context. `counts`: those of --hist; null: none.
void describe_timer_latencies(Members& member, const Histogram& latencies,
                              const EvenHistogram* counts = nullptr);
void describe(Members& member, const TimerCpu& cpu);
void describe(Members& member, const TimerStop& stop);

/// The latencies of all CPUs since the start, at the end of an interval.
class TimerlatInterval final : public IntervalSection {
 public:
  TimerlatInterval() = default;
  TimerlatInterval(std::vector<TimerCpu> cpus, const SessionInfo& info, Duration shown)
      : IntervalSection(info, shown), cpus_(std::move(cpus)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<TimerCpu> cpus_;
};

/// The latencies of all CPUs in the whole session.
class TimerlatReport final : public Section {
 public:
  TimerlatReport() = default;
  /// `was_shown`: the last interval ended with the session. Its table is not printed again.
  TimerlatReport(TimerlatPlan plan, std::vector<TimerCpu> cpus, bool was_shown)
      : plan_(std::move(plan)), cpus_(std::move(cpus)), was_shown_(was_shown) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  TimerlatPlan plan_;
  std::vector<TimerCpu> cpus_;
  bool was_shown_ = false;
};

/// The activation that ended the session, if one was over a limit.
class TimerlatCause final : public Section {
 public:
  TimerlatCause() = default;
  explicit TimerlatCause(std::optional<TimerStop> stop) : stop_(std::move(stop)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::optional<TimerStop> stop_;
};

}  // namespace overdue

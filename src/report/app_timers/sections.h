#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/app_timers/table.h"
#include "report/interval.h"

namespace overdue {

void describe(Members& member, const LateTimer& late);
void describe(Members& member, const AppTimerRow& row);

/// The app timers since the start, at the end of an interval.
class AppTimersInterval final : public IntervalSection {
 public:
  AppTimersInterval() = default;
  /// `rows`: latest first.
  AppTimersInterval(std::vector<AppTimerRow> rows, const SessionInfo& info, Duration shown)
      : IntervalSection(info, shown), rows_(std::move(rows)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<AppTimerRow> rows_;
};

/// The app timers of the whole session, and the wake-up that ended it.
class AppTimersReport final : public Section {
 public:
  AppTimersReport() = default;
  /// `rows`: latest first. `stop`: the wake-up over a limit, if there was one.
  AppTimersReport(std::vector<AppTimerRow> rows, std::optional<LateTimer> stop)
      : rows_(std::move(rows)), stop_(std::move(stop)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<AppTimerRow> rows_;
  std::optional<LateTimer> stop_;
};

}  // namespace overdue

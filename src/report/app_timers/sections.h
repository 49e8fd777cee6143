#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/app_timers/table.h"

namespace overdue {

void describe(Members& member, const LatenessPart& part);
void describe(Members& member, const LateTimer& late);
void describe(Members& member, const AppTimerRow& row);

/// The app timers since the start, at the end of an interval.
class AppTimersInterval final : public Section {
 public:
  AppTimersInterval() = default;
  /// `rows`: latest first. `info` is that at the end of the interval.
  AppTimersInterval(std::vector<AppTimerRow> rows, const SessionInfo& info)
      : rows_(std::move(rows)),
        end_(info.wall(info.start + info.duration)),
        duration_(info.duration) {}

  Place place() const override { return Place::progress; }
  std::string_view type() const override { return "interval"; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<AppTimerRow> rows_;
  WallTime end_{};
  Duration duration_{};  ///< of the session so far
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

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
void describe(Members& member, const OwnTimerRow& row);

/// The app timers since the start, at the end of an interval.
class OwnTimersInterval final : public Section {
 public:
  OwnTimersInterval() = default;
  /// `rows`: latest first. `info` is that at the end of the interval.
  OwnTimersInterval(std::vector<OwnTimerRow> rows, const SessionInfo& info)
      : rows_(std::move(rows)),
        end_(info.wall(info.start + info.duration)),
        duration_(info.duration) {}

  Place place() const override { return Place::progress; }
  std::string_view type() const override { return "interval"; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<OwnTimerRow> rows_;
  WallTime end_{};
  Duration duration_{};  ///< of the session so far
};

/// The app timers of the whole session, and the wake-up that ended it.
class OwnTimersReport final : public Section {
 public:
  OwnTimersReport() = default;
  /// `rows`: latest first. `stop`: the wake-up over a limit, if there was one.
  OwnTimersReport(std::vector<OwnTimerRow> rows, std::optional<LateTimer> stop)
      : rows_(std::move(rows)), stop_(std::move(stop)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<OwnTimerRow> rows_;
  std::optional<LateTimer> stop_;
};

}  // namespace overdue

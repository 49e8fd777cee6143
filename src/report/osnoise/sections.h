#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/osnoise/figures.h"

namespace overdue {

void describe(Members& member, const NoisePart& part);
void describe(Members& member, const OsnoiseStop& stop);

/// The figures of `overdue osnoise` since the start of the session, at --interval.
class OsnoiseIntervalSection final : public Section {
 public:
  OsnoiseIntervalSection() = default;
  /// `info`: the session until now; `shown`: its duration at the section before.
  OsnoiseIntervalSection(OsnoisePlan plan, std::vector<OsnoiseCpu> cpus, const SessionInfo& info,
                         Duration shown)
      : plan_(std::move(plan)),
        cpus_(std::move(cpus)),
        start_(info.wall(info.start + shown)),
        end_(info.wall(info.start + info.duration)),
        duration_(info.duration) {}

  Place place() const override { return Place::progress; }
  std::string_view type() const override { return "interval"; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  OsnoisePlan plan_;
  std::vector<OsnoiseCpu> cpus_;
  WallTime start_{}, end_{};
  Duration duration_{};  ///< from the start of the session
};

/// The report of `overdue osnoise`.
class OsnoiseSection final : public Section {
 public:
  OsnoiseSection() = default;
  /// `stop`: the noise that ended the run, if one did.
  OsnoiseSection(OsnoisePlan plan, std::vector<OsnoiseCpu> cpus, std::optional<OsnoiseStop> stop)
      : plan_(std::move(plan)), cpus_(std::move(cpus)), stop_(std::move(stop)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  OsnoisePlan plan_;
  std::vector<OsnoiseCpu> cpus_;
  std::optional<OsnoiseStop> stop_;
};

}  // namespace overdue

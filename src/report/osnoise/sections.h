#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/interval.h"
#include "report/osnoise/figures.h"

namespace overdue {

void describe(Members& member, const NoisePart& part);
void describe(Members& member, const OsnoiseStop& stop);

/// The figures of `overdue osnoise` since the start of the session, at --interval.
class OsnoiseInterval final : public IntervalSection {
 public:
  OsnoiseInterval() = default;
  OsnoiseInterval(OsnoisePlan plan, std::vector<OsnoiseCpu> cpus, const SessionInfo& info,
                  Duration shown)
      : IntervalSection(info, shown), plan_(std::move(plan)), cpus_(std::move(cpus)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  OsnoisePlan plan_;
  std::vector<OsnoiseCpu> cpus_;
};

/// The report of `overdue osnoise`.
class OsnoiseReport final : public Section {
 public:
  OsnoiseReport() = default;
  /// `stop`: the noise that ended the run, if one did.
  OsnoiseReport(OsnoisePlan plan, std::vector<OsnoiseCpu> cpus, std::optional<OsnoiseStop> stop)
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

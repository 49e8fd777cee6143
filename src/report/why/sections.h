#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "core/section.h"
#include "report/why/figures.h"

namespace overdue {

/// The words of --by.
inline constexpr std::array<std::string_view, 6> why_words{"group", "thread", "process",
                                                           "name",  "cgroup", "parent"};

void describe(Members& member, const WhyName& name);
void describe(Members& member, const WhyFunction& function);

/// The report of `overdue why`.
class WhySection final : public Section {
 public:
  WhySection() = default;
  explicit WhySection(WhyFigures figures) : figures_(std::move(figures)) {}

  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  WhyFigures figures_;
};

/// The report for people.
std::string why_text(const WhyFigures& figures, const ReportContext& context);

}  // namespace overdue

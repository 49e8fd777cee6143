#pragma once

#include <string>
#include <utility>

#include "core/finding.h"
#include "core/section.h"

namespace overdue {

/// One late operation, explained.
class FindingSection final : public Section {
 public:
  FindingSection() = default;
  /// `shows_threshold`: the text has the threshold, also when stacks are not whole.
  explicit FindingSection(Finding finding, bool shows_threshold = true)
      : finding_(std::move(finding)), shows_threshold_(shows_threshold) {}

  const Finding& finding() const { return finding_; }

  Place place() const override { return Place::line; }
  std::string_view type() const override { return finding_.type; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  Finding finding_;
  bool shows_threshold_ = true;
};

/// The number of findings with the cause of another, which are not shown.
class RepeatsSection final : public Section {
 public:
  RepeatsSection() = default;
  explicit RepeatsSection(Repeats repeats) : repeats_(std::move(repeats)) {}

  const Repeats& repeats() const { return repeats_; }

  Place place() const override { return Place::line; }
  std::string_view type() const override { return "more"; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  bool is_paragraph() const override { return false; }

 private:
  Repeats repeats_;
};

}  // namespace overdue

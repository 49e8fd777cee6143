#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/latency_window.h"
#include "core/section.h"

namespace overdue {

/// One of the longest latencies, as a line of a stream; its text has the kernel's format.
class WindowSection final : public Section {
 public:
  WindowSection() = default;
  explicit WindowSection(LatencyWindow window) : window_(std::move(window)) {}
  Place place() const override { return Place::line; }
  std::string_view type() const override { return "worst"; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  LatencyWindow window_;
};

/// The longest latencies of a session, longest first.
class WorstSection final : public Section {
 public:
  WorstSection() = default;
  explicit WorstSection(std::vector<LatencyWindow> windows) : windows_(std::move(windows)) {}
  void members(Members& member, const ReportContext& context) const override;
  std::vector<SectionPtr> lines() const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<LatencyWindow> windows_;
};

}  // namespace overdue

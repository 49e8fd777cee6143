#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/latency_table.h"
#include "core/record.h"
#include "core/section.h"
#include "sinks/figures.h"

namespace overdue {

/// A call that --discover found, and its caller if asked for.
struct FoundName {
  std::string name;
  std::optional<CallerName> caller{};
  auto operator<=>(const FoundName&) const = default;
};
void describe(Members& member, const FoundName& found);

/// The latencies of a whole session, or of an interval of it.
class LatencySection final : public Section {
 public:
  /// An empty table, for its description. `title`: as LatencyTable::title.
  explicit LatencySection(std::string_view title = "syscalls");
  /// The same of an interval.
  static SectionPtr any_interval(std::string_view title = "syscalls");
  explicit LatencySection(const LatencyTable& table) : table_(table) {}
  LatencySection(const LatencyTable& table, WallTime interval_start)
      : table_(table), interval_start_(interval_start) {}

  Place place() const override { return interval_start_ ? Place::line : Place::report; }
  std::string_view type() const override {
    return interval_start_ ? std::string_view("interval") : std::string_view{};
  }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  TableFigures table_;
  std::optional<WallTime> interval_start_;
};

/// Spans that are open at the end of a session that has no table for them.
class UnfinishedSection final : public Section {
 public:
  UnfinishedSection() = default;
  explicit UnfinishedSection(std::vector<OpenSpan> spans)
      : spans_(oldest_first(std::move(spans))) {}
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<OpenSpan> spans_;
};

/// The result of --discover: names alone, for scripts.
class NamesSection final : public Section {
 public:
  NamesSection() = default;
  explicit NamesSection(std::vector<FoundName> names) : names_(std::move(names)) {}
  void members(Members& member, const ReportContext& context) const override;
  std::vector<SectionPtr> lines() const override;
  /// A line with any name, for its description.
  static SectionPtr element();
  std::string text(const ReportContext& context) const override;
  bool is_bare() const override { return true; }
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  std::vector<FoundName> names_;
};

}  // namespace overdue

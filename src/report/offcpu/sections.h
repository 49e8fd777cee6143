#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/section.h"
#include "report/offcpu/table.h"

namespace overdue {

/// The words of --by: those of rows, and last "displacer".
inline constexpr std::array<std::string_view, 7> offcpu_words{
    "thread", "process", "name", "pattern", "cgroup", "parent", "displacer"};

/// How rows are shown.
struct OffcpuShow {
  Whose by = Whose::thread;
  bool by_displacer = false;  ///< a table of the threads that displaced others
  bool lines = false;         ///< --max: a line for the longest wait of each thread
  std::size_t top = 0;        ///< rows of text; 0: all
};

/// Chooses by one of offcpu_words; throws Error (exit status 2) for any other word.
void choose_rows(OffcpuShow& show, std::string_view word);

void describe(Members& member, const Displacer& displacer);
void describe(Members& member, const OffcpuRow& row);

/// Where threads were: of a whole session, or of an interval of it.
class OffcpuSection final : public Section {
 public:
  OffcpuSection() = default;
  /// `rows`: in the order in which they are shown.
  OffcpuSection(std::vector<OffcpuRow> rows, const OffcpuShow& show)
      : rows_(std::move(rows)), show_(show) {}
  /// `start`, `end`: those of an interval.
  OffcpuSection(std::vector<OffcpuRow> rows, const OffcpuShow& show, WallTime start, WallTime end)
      : rows_(std::move(rows)), show_(show), interval_(Interval{start, end}) {}
  /// A section of an interval, for its description.
  static SectionPtr any_interval();

  Place place() const override { return interval_ ? Place::line : Place::report; }
  std::string_view type() const override {
    return interval_ ? std::string_view("interval") : std::string_view{};
  }
  bool is_bare() const override { return show_.lines; }
  bool is_paragraph() const override { return !show_.lines; }
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext& context) const override;
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  struct Interval {
    WallTime start, end;
  };

  std::vector<OffcpuRow> rows_;
  OffcpuShow show_;
  std::optional<Interval> interval_;
};

/// The displacers of all rows, added up: longest in total first.
std::vector<Displacer> all_displacers(const std::vector<OffcpuRow>& rows);

}  // namespace overdue

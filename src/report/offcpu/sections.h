#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/section.h"
#include "report/offcpu/cpus.h"
#include "report/offcpu/sockets.h"
#include "report/offcpu/stacks.h"
#include "report/offcpu/table.h"

namespace overdue {

/// The words of --by: those of rows, and last those of other tables.
inline constexpr std::array<std::string_view, 9> offcpu_words{
    "thread", "process", "name", "pattern", "cgroup", "parent", "displacer", "stack", "cpu"};

/// What the table of a report has. Recordings have the numbers: append only.
enum class OffcpuTableOf : std::uint8_t {
  threads,
  displacers,  ///< the threads that displaced others
  stacks,
  cpus,
};

/// How rows are shown.
struct OffcpuShow {
  Whose by = Whose::thread;
  OffcpuTableOf table = OffcpuTableOf::threads;
  bool lines = false;   ///< --max: a line for the longest wait of each thread
  std::size_t top = 0;  ///< rows of text; 0: all
};

/// Chooses by one of offcpu_words; throws Error (exit status 2) for any other word.
void choose_rows(OffcpuShow& show, std::string_view word);

void describe(Members& member, const Displacer& displacer);
void describe(Members& member, const OffcpuRow& row);
/// The figures of a row that rows by CPU have too.
void describe_sums(Members& member, const OffcpuRow& row);

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

  /// Adds the table of stacks: longest in total first.
  void set_stacks(std::vector<OffcpuStack> stacks) { stacks_ = std::move(stacks); }
  /// Adds the table of CPUs, in order.
  void set_cpus(std::vector<OffcpuCpu> cpus) { cpus_ = std::move(cpus); }
  /// Adds the sockets of the target.
  void set_net(OffcpuNet net) { net_ = std::move(net); }

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
  std::string table_text(const ReportContext& context) const;

  struct Interval {
    WallTime start, end;
  };

  std::vector<OffcpuRow> rows_;
  OffcpuShow show_;
  std::optional<Interval> interval_;
  std::optional<std::vector<OffcpuStack>> stacks_;
  std::optional<std::vector<OffcpuCpu>> cpus_;
  std::optional<OffcpuNet> net_;
};

/// The displacers of all rows, added up: longest in total first.
std::vector<Displacer> all_displacers(const std::vector<OffcpuRow>& rows);

}  // namespace overdue

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "report/offcpu/sections.h"
#include "report/offcpu/table.h"
#include "report/output.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The settings of a measurement of time off the CPU that its reports need.
struct OffcpuPlan {
  OffcpuShow show;
  /// Waits that took this long have records with their stacks; 0: no waits have.
  Duration stacks_over{};
  bool has_cpus = false;         ///< there are records of the totals by CPU
  bool has_net = false;          ///< there are samples of the target's sockets
  bool runnable_only = false;    ///< no threads that were only blocked; longest runnable first
  std::string sort = "waiting";  ///< column by which rows are sorted, largest first
  bool draws_wakers = false;     ///< drawings go on with the functions of the wakers
  bool draws_oncpu = false;      ///< drawings also have the time on the CPU: there are samples
  bool spawned = false;          ///< true: the program uses Overdue's stdout

  /// Throws Error (exit status 2) for an unknown column.
  void check() const;
};

/// The formats in which the stacks of the waits themselves are the report. `html` is no such format
/// here: a page of the table.
bool is_of_stacks(std::string_view format);
/// Chooses the stacks for such a format. Throws Error (exit status 2) if `by`, the word of --by or
/// empty, asks for something else.
void choose_stacks(OffcpuShow& show, std::string_view format, std::string_view by);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const OffcpuPlan& plan);
OffcpuPlan kept_offcpu_plan(const SessionInfo& info);

/// Prints where threads were, in the requested format.
class OffcpuView final : public MeasureListener {
 public:
  /// `output` must outlive the view.
  OffcpuView(const OffcpuPlan& plan, const OutputOptions& output) : plan_(plan), options_(output) {}

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override {
    table_.add(record);
    cpus_.add(record);
    sockets_.add(record);
  }
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override { report_.output->flush(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

  std::string_view format() const { return options_.format; }
  /// A row for each thread, since the start.
  std::vector<OffcpuRow> threads(const Names& names) const {
    std::vector<OffcpuRow> rows = table_.rows(Whose::thread);
    give_full_names(rows, names, QueueOfWork::left_out);
    return rows;
  }
  /// For the report at the end, longest in total first.
  void set_stacks(std::vector<OffcpuStack> stacks) { stacks_ = std::move(stacks); }
  /// The report itself, where is_of_stacks() is true of its format.
  void set_drawing(std::string drawing) { drawing_ = std::move(drawing); }

 private:
  std::vector<OffcpuRow> sorted(std::vector<OffcpuRow> rows, const Names& names) const;

  OffcpuPlan plan_;
  const OutputOptions& options_;
  ReportOutput report_;  ///< without a sink if a drawing is the report
  OffcpuTable table_;
  OffcpuCpus cpus_;
  OffcpuSockets sockets_;
  std::optional<std::vector<OffcpuStack>> stacks_;
  std::string drawing_;
};

}  // namespace overdue

#pragma once

#include <string>
#include <vector>

#include "report/output.h"
#include "report/timerlat/figures.h"
#include "report/timerlat/trace.h"
#include "source/listener.h"

namespace overdue {

/// Prints the latencies that `overdue timerlat` measures, in the requested format.
class TimerlatView final : public MeasureListener {
 public:
  /// `live`: the output is a terminal, on which the table is redrawn. The other arguments must
  /// outlive the view.
  TimerlatView(const TimerlatPlan& plan, const OutputOptions& output, bool live,
               StackNamer& stacks);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override;
  bool wants_stop() const override { return !stopped_.empty(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  bool is_text() const { return options_.format == "text"; }
  void add(const Record& record, TimerCpu& cpu);
  void show(std::string text);

  const TimerlatPlan& plan_;
  const OutputOptions& options_;
  bool is_live_;
  StackNamer& stacks_;
  ReportOutput report_;
  TimerlatTrace trace_;
  std::vector<TimerCpu> cpus_;
  std::vector<std::byte> stopped_;  ///< record of the activation over a limit
  std::uint64_t newest_ns_ = 0;
  Duration shown_{};  ///< length of the session at the end of the last interval
};

}  // namespace overdue

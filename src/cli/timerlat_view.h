#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/live_table.h"
#include "cli/options.h"
#include "cli/timerlat_figures.h"
#include "cli/timerlat_trace.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"
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
  std::string table(const SessionInfo& info) const;
  void end_text(const SessionInfo& info, const Receipt& receipt);

  const TimerlatPlan& plan_;
  const OutputOptions& options_;
  bool is_live_;
  StackNamer& stacks_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<NdjsonSink> lines_;  ///< for -f ndjson
  TimerlatTrace trace_;
  std::vector<TimerCpu> cpus_;
  std::vector<std::byte> stopped_;  ///< record of the activation over a limit
  std::optional<TimerStop> stop_;   ///< the same activation, explained; set by end()
  std::optional<LiveTable> live_;   ///< on a terminal
  std::uint64_t newest_ns_ = 0;
  Duration shown_{};  ///< length of the session at the last table
};

}  // namespace overdue

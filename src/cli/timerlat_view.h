#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/measure.h"
#include "cli/options.h"
#include "cli/timerlat_figures.h"
#include "cli/timerlat_trace.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"

namespace overdue {

/// Shows what `overdue timerlat` measures, in the format asked for.
class TimerlatView final : public MeasureListener {
 public:
  /// `live`: the text is a terminal's, on which a table is drawn anew.
  TimerlatView(const TimerlatPlan& plan, const OutputOptions& output, bool live,
               TimerlatSource& source);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override;
  bool wants_stop() const override {
    return !stopped_.empty() || source_.is_stuck() || source_.starved();
  }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  bool is_text() const { return options_.format == "text"; }
  void redraw(const std::string& text);
  void end_text(const SessionInfo& info, const Receipt& receipt);

  const TimerlatPlan& plan_;
  const OutputOptions& options_;
  bool live_;
  TimerlatSource& source_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<NdjsonSink> lines_;  ///< --trace as ndjson
  TimerlatTrace trace_;
  KernelStacks stacks_;
  std::vector<TimerCpu> cpus_;
  std::vector<std::byte> stopped_;  ///< the activation that was over a limit, as it was told of
  std::optional<TimerStop> stop_;   ///< it, explained; at the end
  std::size_t drawn_lines_ = 0;
  std::uint64_t newest_ns_ = 0;
  Duration shown_{};  ///< how long the session was when a table was last shown
};

}  // namespace overdue

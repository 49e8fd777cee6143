#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "cli/measure.h"
#include "cli/options.h"
#include "cli/osnoise_figures.h"
#include "cli/osnoise_text.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"

namespace overdue {

/// Shows what `overdue osnoise` measures, in the format asked for.
class OsnoiseView final : public MeasureListener {
 public:
  /// `live`: the text is a terminal's, on which a table is drawn anew.
  OsnoiseView(const OsnoisePlan& plan, const OutputOptions& output, bool live);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override;
  bool wants_stop() const override { return stop_.has_value(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  bool is_text() const { return options_.format == "text"; }
  void add(const osnoise_gap& gap, const TimerCause& cause, OsnoiseCpu& cpu);
  void add(const osnoise_sample& sample, OsnoiseCpu& cpu);
  void redraw(const std::string& text);
  void end_text(const SessionInfo& info, const Receipt& receipt);

  const OsnoisePlan& plan_;
  const OutputOptions& options_;
  bool live_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<NdjsonSink> lines_;  ///< of -f ndjson
  OsnoiseTrace trace_;
  std::vector<OsnoiseCpu> cpus_;
  std::optional<OsnoiseStop> stop_;
  std::size_t drawn_lines_ = 0;
  std::uint64_t newest_ns_ = 0;
  Duration shown_{};  ///< how long the session was when a table was last shown
};

}  // namespace overdue

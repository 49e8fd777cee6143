#pragma once

#include <optional>
#include <vector>

#include "report/osnoise/figures.h"
#include "report/osnoise/text.h"
#include "report/output.h"
#include "source/listener.h"

namespace overdue {

/// Prints the noise that `overdue osnoise` measures, in the requested format.
class OsnoiseView final : public MeasureListener {
 public:
  /// `live`: the output is a terminal, on which the table is redrawn.
  OsnoiseView(const OsnoisePlan& plan, const OutputOptions& output, bool live);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override;
  bool wants_stop() const override { return stop_.has_value(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  bool is_text() const { return options_.format == "text"; }
  void add(const Record& record, OsnoiseCpu& cpu);
  void add(const osnoise_sample& sample, OsnoiseCpu& cpu);
  void show_trace_until(std::uint64_t until_ns);

  const OsnoisePlan& plan_;
  const OutputOptions& options_;
  bool is_live_;
  bool by_tracer_ = false;  ///< true: the kernel's own tracer measures
  ReportOutput report_;
  OsnoiseTrace trace_;
  std::vector<OsnoiseCpu> cpus_;
  std::optional<OsnoiseStop> stop_;
  std::uint64_t newest_ns_ = 0;
  Duration shown_{};  ///< length of the session at the last table
};

}  // namespace overdue

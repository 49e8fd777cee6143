#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/hwlat.h"
#include "cli/options.h"
#include "sinks/output.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The settings of a session of `overdue worst hwlat` that its report needs.
struct HwlatPlan {
  Duration threshold = std::chrono::microseconds(10);
  Duration width = std::chrono::milliseconds(500);  ///< busy time of a thread in each window
  Duration window = std::chrono::seconds(1);
  bool by_kernel = false;  ///< true: the kernel's tracer, with its own threshold, width and window
};

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const HwlatPlan& plan);
HwlatPlan kept_hwlat_plan(const SessionInfo& info);

/// Prints latencies that software does not explain, as they are found, in the requested format.
class HwlatView final : public MeasureListener {
 public:
  /// `output` must outlive the view.
  HwlatView(const HwlatPlan& plan, const OutputOptions& output)
      : plan_(plan),
        options_(output),
        windows_(static_cast<std::uint64_t>(plan.threshold.count())) {}

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { output_->flush(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  bool is_text() const { return options_.format == "text"; }
  void add(HwlatSample sample);
  void add_lines_of_tracer();
  void write_members(JsonWriter& json) const;

  HwlatPlan plan_;
  const OutputOptions& options_;
  SessionInfo info_;
  HwlatWindows windows_;
  std::string tracer_text_;  ///< output of the kernel's tracer
  std::unique_ptr<Output> output_;
  std::vector<HwlatSample> samples_;  ///< windows for -f json
};

}  // namespace overdue

#pragma once

#include <string>
#include <utility>
#include <vector>

#include "core/section.h"
#include "report/hwlat/windows.h"
#include "report/output.h"
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

/// Throws Error (exit status 2) for a threshold, width or window that the threads cannot have.
void check(const HwlatPlan& plan);

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const HwlatPlan& plan);
HwlatPlan kept_hwlat_plan(const SessionInfo& info);

/// A window as it is found. Its text is a line of a trace, which a TextSection has.
class HwlatWindowSection final : public Section {
 public:
  HwlatWindowSection() = default;
  explicit HwlatWindowSection(HwlatSample window) : window_(std::move(window)) {}
  Place place() const override { return Place::progress; }
  std::string_view type() const override { return "hwlat"; }
  void members(Members& member, const ReportContext&) const override { describe(member, window_); }
  std::string text(const ReportContext&) const override { return {}; }

 private:
  HwlatSample window_;
};

/// The report of `overdue worst hwlat`, with the windows unless they were written as lines.
class HwlatSection final : public Section {
 public:
  HwlatSection() = default;
  HwlatSection(const HwlatPlan& plan, std::vector<HwlatSample> windows)
      : plan_(plan), windows_(std::move(windows)) {}
  void members(Members& member, const ReportContext& context) const override;
  std::string text(const ReportContext&) const override { return {}; }
  void rows(CsvRows& csv, const ReportContext& context) const override;

 private:
  HwlatPlan plan_;
  std::vector<HwlatSample> windows_;
};

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
  void tick() override { report_.output->flush(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void add(HwlatSample window);
  void add_lines_of_tracer();

  HwlatPlan plan_;
  const OutputOptions& options_;
  SessionInfo info_;
  HwlatWindows windows_;
  std::string tracer_text_;  ///< output of the kernel's tracer
  ReportOutput report_;
  std::vector<HwlatSample> found_;  ///< windows for formats that show them at the end
};

}  // namespace overdue

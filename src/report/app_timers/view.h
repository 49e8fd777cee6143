#pragma once

#include <cstdint>
#include <optional>

#include "report/app_timers/table.h"
#include "report/output.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The settings of a measurement of app timers that its reports need.
struct AppTimersPlan {
  std::uint64_t stop_irq_ns = 0;  ///< limit for the IRQ latency; 0: no limit
  std::uint64_t stop_total_ns = 0;
  bool user = false;     ///< true: stop_total_ns includes the way back to the program
  bool trace = false;    ///< true: -f ndjson and csv have a record for each wake-up
  bool spawned = false;  ///< true: the program uses Overdue's stdout
};

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const AppTimersPlan& plan);
AppTimersPlan kept_app_timers_plan(const SessionInfo& info);

/// Prints the latencies of app timers, in the requested format.
class AppTimersView final : public MeasureListener {
 public:
  /// `output` and `stacks` must outlive the view.
  AppTimersView(const AppTimersPlan& plan, const OutputOptions& output, StackNamer& stacks);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override { report_.output->flush(); }
  bool wants_stop() const override { return stop_.has_value(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  AppTimersPlan plan_;
  const OutputOptions& options_;
  ReportOutput report_;
  SessionInfo info_;
  AppTimersTable table_;
  std::optional<LateTimer> stop_;
  Duration shown_{};  ///< length of the session at the end of the last interval
};

}  // namespace overdue

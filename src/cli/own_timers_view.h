#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/own_timers_table.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The settings of a measurement of app timers that its reports need.
struct OwnTimersPlan {
  std::uint64_t stop_irq_ns = 0;  ///< limit for the IRQ latency; 0: no limit
  std::uint64_t stop_total_ns = 0;
  bool user = false;     ///< true: stop_total_ns includes the way back to the program
  bool trace = false;    ///< true: -f ndjson has a record for each wake-up
  bool spawned = false;  ///< true: the program uses Overdue's stdout
};

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const OwnTimersPlan& plan);
OwnTimersPlan kept_own_timers_plan(const SessionInfo& info);

/// Prints the latencies of app timers, in the requested format.
class OwnTimersView final : public MeasureListener {
 public:
  /// `output` and `stacks` must outlive the view.
  OwnTimersView(const OwnTimersPlan& plan, const OutputOptions& output, StackNamer& stacks);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo& info, Duration wall) override;
  void tick() override { output_->flush(); }
  bool wants_stop() const override { return stop_.has_value(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

 private:
  void end_text(const SessionInfo& info, const Receipt& receipt);

  OwnTimersPlan plan_;
  const OutputOptions& options_;
  std::unique_ptr<Output> output_;
  std::unique_ptr<NdjsonSink> lines_;  ///< for -f ndjson
  SessionInfo info_;
  StackNamer& stacks_;
  OwnTimersTable table_{stacks_};
  std::optional<LateTimer> stop_;
};

/// The table of app timers, latest first, with at most `most` rows.
std::string own_timers_table(const std::vector<const OwnTimerRow*>& rows, std::size_t most);

/// One wake-up and its parts.
std::string late_timer_text(const LateTimer& late, const SessionInfo& info, StackNamer& stacks);

}  // namespace overdue

#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "cli/measure.h"
#include "cli/options.h"
#include "cli/own_timers_table.h"
#include "sinks/ndjson.h"
#include "sinks/output.h"

namespace overdue {

/// What was asked for of a target's own timers.
struct OwnTimersPlan {
  std::uint64_t stop_irq_ns = 0;  ///< stop at a timer as late as that; 0: never
  std::uint64_t stop_total_ns = 0;
  bool user = false;     ///< the way back to the program counts too, for stop_total_ns
  bool trace = false;    ///< a record for each wake-up; as NDJSON
  bool spawned = false;  ///< the program uses our stdout
};

/// Shows how late a target's own timers are, in the format asked for.
class OwnTimersView final : public MeasureListener {
 public:
  OwnTimersView(const OwnTimersPlan& plan, const OutputOptions& output);

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
  std::unique_ptr<NdjsonSink> lines_;  ///< of -f ndjson
  SessionInfo info_;
  KernelStacks kernel_;
  OwnTimersTable table_{kernel_};
  std::optional<LateTimer> stop_;
};

/// The table, latest first; of at most `most` rows.
std::string own_timers_table(const std::vector<const OwnTimerRow*>& rows, std::size_t most);

/// One wake-up and its parts.
std::string late_timer_text(const LateTimer& late, const SessionInfo& info, KernelStacks& kernel);

}  // namespace overdue

#pragma once

#include "core/stack_namer.h"
#include "report/output.h"
#include "report/why/analysis.h"
#include "source/listener.h"

namespace overdue {

/// Writes the report of `why` to a sink that has begun, and ends the sink.
void write_why(Sink& sink, const WhyAnalysis& analysis, const SessionInfo& info,
               const Receipt& receipt);

/// Finds the causes of a session, and shows them at the end. One thread.
class WhyView final : public MeasureListener {
 public:
  /// `output` and `namer` must outlive this object.
  WhyView(const WhyPlan& plan, const OutputOptions& output, StackNamer& namer)
      : spawned_(plan.spawned), options_(output), analysis_(plan, namer) {}

  void begin(const SessionInfo& info) override;
  void use_names(const Names& names) override { analysis_.use_names(names); }
  void record(const Record& record) override { analysis_.record(record); }
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { analysis_.tick(); }
  void settle() override { analysis_.settle(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

  const WhyAnalysis& analysis() const { return analysis_; }

 private:
  bool spawned_;
  const OutputOptions& options_;
  ReportOutput report_;
  WhyAnalysis analysis_;
};

}  // namespace overdue

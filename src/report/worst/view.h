#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "analysis/window_assembler.h"
#include "core/latency_window.h"
#include "core/preemption.h"
#include "core/stack_namer.h"
#include "report/output.h"
#include "source/kept_options.h"
#include "source/listener.h"

namespace overdue {

/// The largest value of --keep.
inline constexpr std::size_t worst_kept_at_most = 1000;

/// The settings of a session of `overdue worst` that its report needs.
struct WorstPlan {
  std::size_t keep = 1;  ///< number of latencies to keep; 0: prints all, as they are found
  Preemption preemption{};
};

/// The plan as a recording keeps it, and back; a damaged setting gets its default.
KeptOptions kept_options(const WorstPlan& plan);
WorstPlan kept_worst_plan(const SessionInfo& info);

/// Prints the longest latencies, in the requested format.
class WorstView final : public MeasureListener {
 public:
  /// `stacks` must outlive the view. Once `plan.keep` latencies are kept, `raise_bar` is called
  /// with the shortest of them.
  WorstView(const WorstPlan& plan, OutputOptions output, bool spawned, StackNamer& stacks,
            std::function<void(std::uint64_t)> raise_bar = nullptr);

  void begin(const SessionInfo& info) override;
  void record(const Record& record) override;
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { report_.output->flush(); }
  void settle() override { assembler_.finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override;

  /// The longest of all latencies that came, kept or not.
  std::uint64_t longest_ns() const { return longest_ns_; }

 private:
  bool is_stream() const { return plan_.keep == 0; }
  void found(LatencyWindow window);

  WorstPlan plan_;
  OutputOptions output_;
  bool spawned_;
  std::function<void(std::uint64_t)> raise_bar_;
  std::vector<LatencyWindow> windows_;  ///< kept windows, longest first
  std::uint64_t longest_ns_ = 0;
  std::string tracer_text_;  ///< output of the kernel's tracer
  WindowAssembler assembler_;
  FrameCounts frames_;
  ReportOutput report_;
};

}  // namespace overdue

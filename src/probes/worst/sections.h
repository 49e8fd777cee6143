#pragma once

#include "probes/worst/probe.h"

namespace overdue {

class Kernel;

/// Whether lower bounds are available for how long interrupts (WORST_IRQSOFF), preemption
/// (WORST_PREEMPTOFF) or either (WORST_PREEMPTIRQSOFF) are disabled.
Support support_of_sections(worst_tracer tracer, const Kernel& kernel);

/// Reports the longest stretches in which a CPU took no interrupt, or could not switch, as
/// worst_window records in the rings. Their latencies are lower bounds, see worst_bound. The
/// constructor loads and attaches the programs. WorstOptions::events and events_per_cpu have no
/// effect.
class SectionsProbe final : public LiveProbe {
 public:
  SectionsProbe(const WorstOptions& options, const SharedMaps& shared);
  ~SectionsProbe() override;

  /// From now on only windows longer than `latency_ns` are reported.
  void raise_bar(std::uint64_t latency_ns);

  struct Figures {
    std::uint64_t seen = 0;        ///< number of stretches of any length
    std::uint64_t longest_ns = 0;  ///< longest stretch
  };
  Figures figures() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  std::vector<std::string> left_out() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace overdue

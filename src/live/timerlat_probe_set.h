#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "probes/timerlat/probe.h"
#include "probes/timerlat/threads.h"
#include "report/timerlat/figures.h"
#include "source/probe_set.h"

namespace overdue {

/// What the probe of timerlat, and its threads, do for the plan.
TimerlatOptions timerlat_options(const TimerlatPlan& plan);
TimerThreadOptions timer_threads(const TimerlatPlan& plan);

/// The probe set of timerlat: timers of real-time workload threads, one per CPU.
class TimerlatProbeSet final : public ProbeSet {
 public:
  /// `threads`, on `cpus`, must not have begun, and must outlive this object.
  TimerlatProbeSet(const TimerlatOptions& options, std::vector<std::uint32_t> cpus,
                   TimerThreads& threads)
      : options_(options), cpus_(std::move(cpus)), threads_(threads) {}

  std::string_view purpose() const override { return "measure how late timers are"; }
  Support support(const Kernel& kernel) const override { return timerlat_probe.support(kernel); }
  std::size_t ring_bytes() const override { return default_ring_bytes(); }
  void add_to(Session& session, const Kernel& kernel,
              const std::vector<std::uint32_t>& cpus) override;
  std::string backend() const override { return "bpf"; }
  void armed(KernelTime start) override;
  std::uint64_t events_in(const Record& record) const override {
    return record.schema->id == RECORD_TIMERLAT ? 1 : 0;
  }
  Duration poll_every() const override { return std::chrono::milliseconds(20); }
  void poll(KernelTime now, const RecordHandler&) override;
  /// True also if an activation is over a limit and its thread has not come back for a second.
  bool is_over() const override { return stuck_ || threads_.starved(); }
  KernelTime ending() override;
  void finish(const RecordHandler& handler) override;
  void end_threads() noexcept override { threads_.end(); }
  std::vector<std::string> notes() const override;

 private:
  TimerlatOptions options_;
  std::vector<std::uint32_t> cpus_;
  TimerThreads& threads_;
  TimerlatProbe* probe_ = nullptr;
  std::optional<KernelTime> stopping_since_;
  bool stuck_ = false;
};

}  // namespace overdue

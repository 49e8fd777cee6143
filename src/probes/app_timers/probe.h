#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/app_timer.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

struct AppTimersOptions {
  Duration stack_over{};            ///< kernel stacks of interrupts later than this; 0: none
  std::vector<std::uint32_t> cpus;  ///< only timers that expire on these CPUs; empty: all
  bool use_throttles = false;       ///< quotas and the real-time limit: see Kernel::throttles()
  /// Kernel functions report the queues that a CPU quota throttles: see Kernel.
  bool hears_of_queues = false;
};

/// Records each wake-up of the target's threads by one of their timers: an app_timer record, when
/// the system call that the wake-up ends returns. The constructor loads and attaches the programs,
/// and throws Error.
class AppTimersProbe final : public LiveProbe {
 public:
  explicit AppTimersProbe(const SharedMaps& shared, const AppTimersOptions& options = {});
  ~AppTimersProbe() override;

  /// Number of wake-ups without a record, because the thread slept again before its call returned.
  std::uint64_t slept_again() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void end_calibration() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo app_timers_probe;
extern const Schema app_timer_schema;

}  // namespace overdue

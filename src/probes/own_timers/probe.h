#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "bpf/own_timer.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

struct OwnTimersOptions {
  Duration stack_over{};            ///< kernel stacks of interrupts later than that; 0: none
  std::vector<std::uint32_t> cpus;  ///< only timers that expire there; empty: everywhere
  bool use_throttles = false;       ///< quotas and the real-time limit: see Kernel::throttles()
  /// Functions of the kernel say which queues a CPU quota keeps from running: see Kernel.
  bool hears_of_queues = false;
};

/// Records each wake-up of the target's threads by a timer of theirs: an own_timer record, when the
/// system call it ends returns. Loaded and attached by the constructor, which throws Error.
class OwnTimersProbe final : public LiveProbe {
 public:
  explicit OwnTimersProbe(const SharedMaps& shared, const OwnTimersOptions& options = {});
  ~OwnTimersProbe() override;

  /// Wake-ups that are in no record, because the thread slept again before its call returned.
  std::uint64_t slept_again() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void end_calibration() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo own_timers_probe;
extern const Schema own_timer_schema;

}  // namespace overdue

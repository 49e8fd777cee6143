#pragma once

#include <memory>

#include "bpf/sched.h"
#include "core/probe.h"
#include "kernel/live_probe.h"

namespace overdue {

/// Keeps the ledgers of all threads of the machine, and records waits and wake-ups that took at
/// least control().wait_min_ns. Loaded and attached by the constructor. To be made before the
/// probes that read ledgers, which get its maps.
class SchedProbe final : public LiveProbe {
 public:
  explicit SchedProbe(const SharedMaps& shared);
  ~SchedProbe() override;

  /// `shared` with the ledgers.
  SharedMaps maps() const;

  /// What the programs were run for so far, calibrating aside.
  struct Activity {
    std::uint64_t calls = 0;     ///< of members, by a SyscallsProbe with these ledgers
    std::uint64_t switches = 0;  ///< of all threads of the machine
  };
  Activity activity() const;

  void drain_cells(std::uint32_t, KernelTime, const RecordHandler&) override {}
  double fill(std::uint32_t) const override { return 0; }
  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void begin_calibration() override {}
  void end_calibration() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo sched_probe;
extern const Schema sched_wait_schema;
extern const Schema sched_wake_schema;

}  // namespace overdue

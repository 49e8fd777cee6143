#pragma once

#include <memory>

#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/user_stack.h"
#include "core/probe.h"
#include "core/throttle_schema.h"
#include "kernel/live_probe.h"

namespace overdue {

struct SchedOptions {
  /// How much of the user stacks of waits to copy that are late themselves: those of members that
  /// take control().threshold_ns[SPAN_OFFCPU] or [SPAN_WAKEUP], and long ones behind the end of a
  /// system call. 0: none. Each is a wait_stack behind its wait.
  std::size_t user_stack_bytes = 0;
  /// How much of the user stacks of the threads that ticks meet; 0: those are not looked at.
  std::size_t sample_bytes = 0;
  bool use_task_work = true;  ///< where the kernel has it; false: as if it had not
  bool use_vectors = true;    ///< the same of the tracepoints of local interrupts
  bool use_throttles = true;  ///< the same of what tells that a CPU quota is used up
};

/// Keeps the ledgers of all threads of the machine, and records waits and wake-ups that took at
/// least control().wait_min_ns. Loaded and attached by the constructor. To be made before the
/// probes that read ledgers, which get its maps.
class SchedProbe final : public LiveProbe {
 public:
  explicit SchedProbe(const SharedMaps& shared, const SchedOptions& options = {});
  ~SchedProbe() override;

  /// `shared` with the ledgers.
  SharedMaps maps() const;

  /// Whether waits outside of system calls have user stacks too, if any have.
  bool has_stacks_everywhere() const;

  /// What began after a CPU's last look at the clock (see cpu_ledger) and is not over yet is
  /// shorter than this; 0 where ticks are not seen.
  Duration quiet_time() const;

  /// How many system calls of members a SyscallsProbe with these ledgers has looked at so far,
  /// calibrating aside.
  std::uint64_t calls() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  std::vector<std::string> left_out() const override;
  void end_calibration() override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo sched_probe;
extern const Schema sched_wait_schema;
extern const Schema sched_wake_schema;
extern const Schema sched_throttle_schema;
extern const Schema sched_runs_schema;
extern const Schema wait_places_schema;
extern const Schema wait_stack_schema;
extern const Schema cpu_sample_schema;
extern const Schema stop_signal_schema;

}  // namespace overdue

#pragma once

#include <memory>
#include <vector>

#include "bpf/offcpu.h"
#include "bpf/sched.h"
#include "bpf/signals.h"
#include "bpf/user_stack.h"
#include "core/probe.h"
#include "core/throttle_schema.h"
#include "kernel/live_probe.h"

namespace overdue {

struct SchedOptions {
  /// Bytes of the user stack to copy for each late wait of a member: one that takes
  /// control().threshold_ns[SPAN_OFFCPU] or [SPAN_WAKEUP], or a long one after the end of a system
  /// call. 0: none. Each stack is a wait_stack behind its wait.
  std::size_t user_stack_bytes = 0;
  /// Bytes of the user stack to copy for each sample of a running thread; 0: no samples.
  std::size_t sample_bytes = 0;
  bool keeps_totals = false;       ///< sums the waits of each thread, and of each displacer
  bool keeps_behind = false;       ///< with totals: also who had the CPU while woken ones wait
  bool keeps_idle_totals = false;  ///< with totals: also of the idle thread of each CPU
  bool keeps_cpu_totals = false;   ///< with totals: also by the CPU that the threads left
  /// enum wait_reason of each native system call, by number; the others have REASON_OTHER. Needs a
  /// SyscallsProbe that looks for stalls.
  std::vector<std::uint8_t> call_reasons = {};
  std::vector<std::uint32_t> cpus = {};  ///< CPUs whose waits the totals have; empty: all
  bool use_task_work = true;             ///< false: acts as if the kernel had no task work for BPF
  bool use_vectors = true;               ///< false: … no tracepoints of local interrupts
  bool use_throttles = true;  ///< false: … no CPU quotas and no limit of real-time threads
};

/// Keeps the ledgers of all threads of the machine, and records waits and wake-ups that took at
/// least control().wait_min_ns. The constructor loads and attaches the programs. Must be
/// constructed before the probes that read ledgers, because they share its maps.
class SchedProbe final : public LiveProbe {
 public:
  explicit SchedProbe(const SharedMaps& shared, const SchedOptions& options = {});
  ~SchedProbe() override;

  /// `shared`, plus the maps of the ledgers.
  SharedMaps maps() const;

  /// Whether waits outside of system calls have user stacks too, if user stacks are copied at all.
  bool has_stacks_everywhere() const;

  /// Upper limit for the age of an open event that began after its CPU last read the clock
  /// (looked_ns of cpu_ledger); 0 if ticks are not visible.
  Duration quiet_time() const;

  /// Number of members' system calls that a SyscallsProbe with these ledgers has examined so far,
  /// without the calls made during calibration.
  std::uint64_t calls() const;

  Epoch epoch() const override { return &session_control::totals_epoch; }
  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  double fill(std::uint32_t epoch) const override;
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
extern const Schema offcpu_thread_schema;
extern const Schema offcpu_displacer_schema;
extern const Schema offcpu_cpu_schema;

}  // namespace overdue

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/callers.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "probes/syscalls/classes.h"
#include "probes/syscalls/syscalls.h"

namespace overdue {

struct SyscallsOptions {
  bool aggregate = true;       ///< cells, drained into syscall_cell records
  bool by_thread = false;      ///< a cell per thread rather than per CPU
  bool calls = false;          ///< a syscall_call record for every call
  bool discover_only = false;  ///< note which calls are made, measure nothing
  bool callers = false;        ///< with aggregate: find out what caused each call, see callers.h
  bool two_phase = false;      ///< load what the second phase needs
  bool hangs = false;          ///< with stalls: calls still open can be asked for
  bool stalls = false;  ///< calls over their threshold, explained; wants the maps of a SchedProbe
  std::size_t user_stack_bytes = 0;  ///< how much of their user stacks to copy, at most
                                     ///< USER_STACK_MAX
  std::optional<SyscallSet> only;    ///< -e
  std::vector<std::uint32_t> cpus;   ///< empty: all
  std::size_t cells = 4096;          ///< in each half of the pool, 2.8 KB each
};

/// The system-call probe on the running kernel. Loaded and attached by the constructor.
class SyscallsProbe final : public LiveProbe {
 public:
  SyscallsProbe(const SyscallsOptions& options, const SharedMaps& shared);
  ~SyscallsProbe() override;

  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  double fill(std::uint32_t epoch) const override;
  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void begin_calibration() override;
  void end_calibration() override;

  /// What was called so far: with discover_only in the whole run, with two_phase in the first
  /// phase.
  SyscallSet discovered() const;
  /// What was first called in the second phase.
  SyscallSet late() const;

  /// With stalls: the threshold of one native call, from now on; 0: the session's.
  void set_threshold(u32 nr, Duration threshold);

  /// With hangs: delivers a syscall_call and an open span_record for each call that has been open
  /// for `age`, once.
  void look_for_hangs(Duration age, const RecordHandler& handler);
  /// Whether those have user stacks: kernels from 5.18 on can.
  bool hangs_have_user_stacks() const;

  /// With callers: lets the kernel go on from this frame by itself.
  void learn(const frame_key& frame, const frame_rule& rule);

  /// Attaches the exit of one native call (its tracepoint's name below events/syscalls without
  /// sys_exit_). Late calls are timed once theirs is attached, only counted before. Throws Error
  /// where the kernel has no such tracepoint.
  void attach_exit(u32 nr, const std::string& tracepoint);
  void detach_call_exits();
  /// Begins to rely on the calls' own exits alone. Before it: control().phase is 2, and
  /// attach_exit() of everything discovered.
  void detach_raw_exit();

  /// With discover_only or two_phase: since when calls of the target may be refused (seccomp, a
  /// tracer); empty: nobody has seen a sign of it. Only the exit that every call passes tells of
  /// refused ones. The threads of the moment are looked at by look_for_filters(), later ones as
  /// they begin their first call or bring a filter.
  std::optional<KernelTime> refusable_since() const;
  void look_for_filters();
  /// Attaches it where it is not. Throws Error.
  void attach_raw_exit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo syscalls_probe;
extern const Schema syscall_call_schema;
extern const Schema syscall_cell_schema;
extern const Schema syscall_open_schema;
/// Never in a file: stacks are read where they were copied.
extern const Schema caller_stack_schema;
extern const Schema signal_handler_schema;

}  // namespace overdue

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bpf/callers.h"
#include "bpf/syscalls.h"
#include "core/probe.h"
#include "kernel/live_probe.h"
#include "syscalls/classes.h"

namespace overdue {

struct SyscallsOptions {
  bool aggregate = true;       ///< cells, drained into syscall_cell records
  bool by_thread = false;      ///< a cell per thread rather than per CPU
  bool calls = false;          ///< a syscall_call record for every call
  bool discover_only = false;  ///< note which calls are made, measure nothing
  bool callers = false;        ///< with aggregate: also the caller of each call, see callers.h
  bool two_phase = false;      ///< load what the second phase needs
  bool hangs = false;          ///< with stalls: open calls can be reported
  bool stalls = false;  ///< explains calls over their threshold; needs the maps of a SchedProbe
  std::size_t user_stack_bytes = 0;  ///< bytes of their user stacks to copy, up to USER_STACK_MAX
  std::optional<SyscallSet> only;    ///< -e
  std::vector<std::uint32_t> cpus;   ///< empty: all
  std::size_t cells = 4096;          ///< per half of the pool, 2.8 KB each
};

/// The system-call probe on the running kernel. The constructor loads and attaches the programs.
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

  /// The calls made so far: with discover_only in the whole run, with two_phase in the first phase.
  SyscallSet discovered() const;
  /// The calls first made in the second phase.
  SyscallSet late() const;

  /// With stalls: sets the threshold of one native call, from now on; 0: the session's threshold.
  void set_threshold(u32 nr, Duration threshold);

  /// With hangs: delivers a syscall_call and an open span_record for each call that has been open
  /// for `age`, once per call.
  void look_for_hangs(Duration age, const RecordHandler& handler);
  /// Whether hangs have user stacks: possible since Linux 5.18.
  bool hangs_have_user_stacks() const;

  /// With callers: the kernel goes on from this frame by itself from now on.
  void learn(const frame_key& frame, const frame_rule& rule);

  /// Attaches the exit of one native call. `tracepoint`: its name below events/syscalls, without
  /// sys_exit_. A late call is timed once its exit is attached, and only counted before. Throws
  /// Error if the kernel has no such tracepoint.
  void attach_exit(u32 nr, const std::string& tracepoint);
  void detach_call_exits();
  /// Begins to rely on the calls' own exits alone. Required before: control().phase is 2, and
  /// attach_exit() for everything discovered.
  void detach_raw_exit();

  /// With discover_only or two_phase: since when calls of the target may be refused (seccomp, a
  /// tracer); empty: no sign of it yet. Only the exit that every call passes shows refused calls.
  /// look_for_filters() checks the present threads; later threads are checked when they begin their
  /// first call or install a filter.
  std::optional<KernelTime> refusable_since() const;
  void look_for_filters();
  /// Attaches the exit that every call passes, unless it is attached. Throws Error.
  void attach_raw_exit();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo syscalls_probe;
extern const Schema syscall_call_schema;
extern const Schema syscall_cell_schema;
extern const Schema syscall_open_schema;
/// Never in a file: stacks are read on the machine that copied them.
extern const Schema caller_stack_schema;
extern const Schema signal_handler_schema;
extern const Schema call_object_schema;

}  // namespace overdue

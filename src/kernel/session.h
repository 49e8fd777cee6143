#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/session_info.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

/// What our own work takes before any probe is attached: ns of each of several short runs.
struct Baseline {
  std::vector<double> call_ns;        ///< getppid(2), a call
  std::vector<double> round_trip_ns;  ///< two threads waking each other in turn through pipes, on
                                      ///< one CPU: four calls, two switches; empty: not of interest
};

/// What one system call costs here, measured on ourselves with getppid(2): medians of short runs,
/// in ns.
struct Calibration {
  double base_ns = 0;       ///< no probes
  double traced_ns = 0;     ///< as a member of the target
  double bystander_ns = 0;  ///< probes attached, not a member
  double spread = 0;        ///< of the base runs: (p75 - p25) / median
  unsigned rounds = 0;
  double switch_cost_ns =
      0;  ///< what probes add to a switch of threads; 0: not measured, or nothing

  double cost_ns() const { return traced_ns > base_ns ? traced_ns - base_ns : 0; }
};

/// A measurement in the kernel: membership and probes, from disarmed attachment to the last record.
/// Life: construct → add probes → calibrate (optional) → adopt → arm → poll and collect, repeatedly
/// → finish. One thread. Destroying it at any point detaches everything; so does the death of the
/// process.
class Session {
 public:
  Session(const MembershipRules& rules, std::size_t ring_bytes) : membership_(rules, ring_bytes) {}

  Membership& membership() { return membership_; }
  void add(std::unique_ptr<LiveProbe> probe) { probes_.push_back(std::move(probe)); }

  /// Times getppid() with and without being a member, in a few milliseconds, on one of `cpus`
  /// (empty: wherever), and switches if `base` has some. It was taken before the probes were
  /// attached.
  Calibration calibrate(const Baseline& base, std::span<const std::uint32_t> cpus = {});

  /// Makes members of the target's threads, those there are and those to come, and lets spans
  /// begin. `start` is when.
  void arm();
  /// Between these no span begins; what had begun before goes on. What is still open of what began
  /// in a pause is counted as cut when it ends.
  void pause();
  void resume();
  KernelTime start() const { return start_; }
  /// When end_early() or finish() disarmed.
  KernelTime end() const { return end_; }

  /// Delivers the records of the rings up to now. Returns how many. Also follows threads that were
  /// moved between cgroups, so it is to be called where there are no rings too.
  std::size_t poll(const RecordHandler& handler);
  /// For who waits while it handles a record: see RingSet::set_aside().
  void set_aside();
  /// For the same: no further span begins, and finish() then says that it ended now.
  void end_early();
  /// True when poll() should be called again soon.
  bool rings_are_filling() const;

  /// Closes an interval: delivers every cell gathered since the last call.
  void collect(const RecordHandler& handler);
  /// True when collect() should be called to make room.
  bool cells_are_filling() const;

  /// Disarms, delivers what is still open, detaches, and delivers the rest: records, cells.
  /// Afterwards only counters work.
  void finish(const RecordHandler& handler);
  /// After finish() and the receipt: takes the last hooks away, those that know who is measured.
  void detach() { membership_.detach(); }

  /// What probes cannot see on this kernel: a sentence each, for the reader of the report.
  std::vector<std::string> left_out() const;

  /// Loss so far, and the target's CPU time. Events and cost are for the caller to fill, who has
  /// seen the records.
  Receipt receipt() const;

 private:
  KernelTime start_spans();
  /// Lets programs write to the other half of the cells; returns when none writes to the old one.
  std::uint32_t begin_epoch();
  void drain_cells(std::uint32_t epoch, const RecordHandler& handler);
  std::size_t drain_rings(KernelTime until, const RecordHandler& handler);

  Membership membership_;
  std::vector<std::unique_ptr<LiveProbe>> probes_;
  KernelTime start_{}, end_ = KernelTime::max();
};

/// Times getppid(2): the ns per call of each of several short runs. On one of `cpus`, if any are
/// named and one takes us: programs of a session with `--cpu` look at no other.
std::vector<double> time_getppid(std::span<const std::uint32_t> cpus = {});

/// Times switches between two threads of ours, on the first of `cpus` that takes us, or the one we
/// are on: see Baseline::round_trip_ns. Throws Error where there are no pipes or threads to be had.
std::vector<double> time_round_trips(std::span<const std::uint32_t> cpus = {});

}  // namespace overdue

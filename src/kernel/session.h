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

/// What one system call costs here, measured on ourselves with getppid(2): medians of short runs,
/// in ns.
struct Calibration {
  double base_ns = 0;       ///< no probes
  double traced_ns = 0;     ///< as a member of the target
  double bystander_ns = 0;  ///< probes attached, not a member
  double spread = 0;        ///< of the base runs: (p75 - p25) / median
  unsigned rounds = 0;

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
  /// (empty: wherever). `base_ns` is what time_getppid() said before the probes were attached.
  Calibration calibrate(const std::vector<double>& base_ns,
                        std::span<const std::uint32_t> cpus = {});

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

  /// Loss so far, what the programs' runs since arm() took, and the target's CPU time. Events are
  /// for the caller to fill, who has seen the records.
  Receipt receipt() const;

 private:
  KernelTime start_spans();
  Counters sum_counters() const;
  void add_cost(Counters& sum, Receipt& receipt) const;
  /// Lets programs write to the other half of the cells; returns when none writes to the old one.
  std::uint32_t begin_epoch();
  void drain_cells(std::uint32_t epoch, const RecordHandler& handler);
  std::size_t drain_rings(KernelTime until, const RecordHandler& handler);

  Membership membership_;
  std::vector<std::unique_ptr<LiveProbe>> probes_;
  Counters runs_before_;  ///< when it was armed
  KernelTime start_{}, end_ = KernelTime::max();
};

/// Times getppid(2): the ns per call of each of several short runs. On one of `cpus`, if any are
/// named and one takes us: programs of a session with `--cpu` look at no other.
std::vector<double> time_getppid(std::span<const std::uint32_t> cpus = {});

}  // namespace overdue

#pragma once

#include <memory>
#include <optional>
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

  /// Times getppid() with and without being a member, in a few milliseconds. `base_ns` is what
  /// time_getppid() gave before the probes were attached.
  Calibration calibrate(const std::vector<double>& base_ns);

  /// Makes members of the target's threads and lets spans begin. `start` is when.
  void arm();
  KernelTime start() const { return start_; }

  /// Delivers the records of the rings up to now (or, with `all`, everything). Returns how many.
  std::size_t poll(const RecordHandler& handler, bool all = false);
  /// True when poll() should be called again soon.
  bool rings_are_filling() const;

  /// Closes an interval: delivers every cell gathered since the last call.
  void collect(const RecordHandler& handler);
  /// True when collect() should be called to make room.
  bool cells_are_filling() const;

  /// Disarms, detaches, delivers what is left: records, cells, open spans. Afterwards only counters
  /// work.
  void finish(const RecordHandler& handler);

  /// Loss so far, and the target's CPU time. Events and cost are for the caller to fill, who has
  /// seen the records.
  Receipt receipt() const;

 private:
  Membership membership_;
  std::vector<std::unique_ptr<LiveProbe>> probes_;
  KernelTime start_{};
};

/// Times getppid(2): the ns per call of each of several short runs.
std::vector<double> time_getppid();

}  // namespace overdue

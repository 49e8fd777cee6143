#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/session_info.h"
#include "kernel/live_probe.h"
#include "kernel/membership.h"

namespace overdue {

/// The cost of one system call on this machine, measured on ourselves with getppid(2): medians of
/// short runs, in ns.
struct Calibration {
  double base_ns = 0;       ///< without probes
  double traced_ns = 0;     ///< as a member of the target
  double bystander_ns = 0;  ///< with probes, outside the target
  double spread = 0;        ///< spread of the base runs: (p75 - p25) / median
  unsigned rounds = 0;

  double cost_ns() const { return traced_ns > base_ns ? traced_ns - base_ns : 0; }
};

/// A measurement in the kernel: membership and probes, from disarmed attachment to the last record.
/// Life: construct → add probes → calibrate (optional) → arm → poll and collect, repeatedly →
/// finish. One thread. The destructor detaches everything at any point; so does the end of the
/// process.
class Session {
 public:
  Session(const MembershipRules& rules, std::size_t ring_bytes) : membership_(rules, ring_bytes) {}

  Membership& membership() { return membership_; }
  void add(std::unique_ptr<LiveProbe> probe) { probes_.push_back(std::move(probe)); }

  /// Times getppid() inside and outside the target, in a few milliseconds, on one of `cpus` (empty:
  /// on any CPU). `base_ns` is the result of time_getppid() before the probes were attached.
  Calibration calibrate(const std::vector<double>& base_ns,
                        std::span<const std::uint32_t> cpus = {});

  /// Makes the target's existing and future threads members, and lets spans begin. start() is the
  /// time of the call.
  void arm();
  /// In a pause no span begins; open spans continue. A span that began in the pause and is still
  /// open after it is counted as cut when it ends.
  void pause();
  void resume();
  /// Counts waits from now on, not from arm(): a program that waits to be started has waited for
  /// Overdue until now, which is no time of its own. Only for such a target: sums of threads that
  /// run already would lack the time before.
  void start_waits();
  KernelTime start() const { return start_; }
  /// When end_early() or finish() disarmed the session.
  KernelTime end() const { return end_; }

  /// Delivers the records in the rings up to now. Returns their number. Also follows processes that
  /// were moved between cgroups, so call it even if there are no rings.
  std::size_t poll(const RecordHandler& handler);
  /// For a handler that waits: see RingSet::set_aside().
  void set_aside();
  /// Delivers a copy of `record`, which comes from elsewhere, among the records of the rings: after
  /// all earlier records. Records are inserted in time order.
  void insert(const Record& record);
  /// For a handler that waits: no further span begins, and the time of the call becomes end().
  void end_early();
  /// True if poll() should be called again soon.
  bool rings_are_filling() const;

  /// Closes an interval: delivers all cells since the last call.
  void collect(const RecordHandler& handler);
  /// True if make_room() should be called.
  bool cells_are_filling() const;
  /// Within an interval: delivers the cells of those probes whose cells are filling up.
  void make_room(const RecordHandler& handler);

  /// Disarms, delivers open spans, detaches, and delivers the remaining records and cells.
  /// Afterwards only counters work.
  void finish(const RecordHandler& handler);
  /// After finish() and the receipt: removes the last hooks, those of Membership.
  void detach() { membership_.detach(); }

  /// The events that probes cannot see on this kernel: a sentence each, for the report.
  std::vector<std::string> left_out() const;

  /// Loss so far, the cost of the programs' runs since arm(), and the target's CPU time. `events`
  /// counts spans only: the caller adds the records that it has seen.
  Receipt receipt() const;

 private:
  KernelTime start_spans();
  KernelTime end_spans();
  Counters sum_counters() const;
  void add_cost(Counters& sum, Receipt& receipt) const;
  bool is_filling(const LiveProbe& probe) const;
  /// Makes programs write to the other half of the cells, and waits until none writes to the old.
  void begin_epochs(const std::vector<LiveProbe::Epoch>& epochs);
  /// Of the probes with these epochs, which have begun.
  void drain_cells(const std::vector<LiveProbe::Epoch>& epochs, const RecordHandler& handler);
  std::size_t drain_rings(KernelTime until, const RecordHandler& handler);
  void deliver_inserted(std::uint64_t until_ns, const RecordHandler& handler);

  struct Inserted {
    const Schema* schema;
    std::vector<std::byte> bytes;
  };

  Membership membership_;
  std::deque<Inserted> inserted_;  ///< not delivered yet, oldest first
  std::vector<std::unique_ptr<LiveProbe>> probes_;
  Counters runs_before_;  ///< counters at arm()
  KernelTime start_{}, end_ = KernelTime::max();
};

/// Times getppid(2): the ns per call of several short runs. Runs on the first of `cpus` that this
/// thread may use, if any: programs of a session with `--cpu` measure no other CPUs.
std::vector<double> time_getppid(std::span<const std::uint32_t> cpus = {});

}  // namespace overdue

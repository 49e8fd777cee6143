#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/probe.h"
#include "kernel/session.h"

namespace overdue {

/// The probe set of a command: the probes that the command adds to a session, and all that depends
/// on them. The rest of a measurement (targets, signals, intervals, the end) is the same for all
/// commands. Used by the measuring thread only, which calls the member functions in the order of
/// their declaration, from `armed` on repeatedly.
class ProbeSet {
 public:
  virtual ~ProbeSet() = default;

  /// "measure system calls", for the message of a refusal; and whether the kernel allows it.
  virtual std::string_view purpose() const = 0;
  virtual Support support(const Kernel& kernel) const = 0;
  /// Size of each CPU's ring; 0: no ring is needed.
  virtual std::size_t ring_bytes() const = 0;

  /// Adds the probes, attached; on `cpus` only, unless `cpus` is empty.
  virtual void add_to(Session& session, const Kernel& kernel,
                      const std::vector<std::uint32_t>& cpus) = 0;
  /// The name of the way of measuring, for the report.
  virtual std::string backend() const { return "tp_btf"; }
  /// Spans count from `start` on.
  virtual void armed(KernelTime /*start*/) {}

  /// Number of events that a record stands for; and, after the end, of events without a record.
  virtual std::uint64_t events_in(const Record& record) const = 0;
  virtual std::uint64_t events() const { return 0; }
  /// Whether BPF programs run at context switches: each time the target leaves a CPU is then an
  /// event.
  virtual bool look_at_switches() const { return false; }
  /// Whether the report may name threads of the kernel, whose full names take time to read.
  virtual bool names_kernel_threads() const { return true; }
  /// Whether BPF programs may be attached during the measurement.
  virtual bool attaches_later() const { return false; }
  /// Whether every program that Overdue starts makes at least one event: no event then means that
  /// the hooks do not run.
  virtual bool sees_any_program() const { return false; }
  /// The longest time between two reads of rings and cells.
  virtual Duration poll_every() const = 0;
  /// The time of a further call of poll().
  virtual KernelTime due() const { return KernelTime::max(); }
  /// May deliver records besides those of the rings.
  virtual void poll(KernelTime /*now*/, const RecordHandler&) {}
  /// True if no more records will come.
  virtual bool is_over() const { return false; }
  /// The session is about to end. Returns when measuring ended, if that was earlier, else max().
  virtual KernelTime ending() { return KernelTime::max(); }

  /// The rings are empty: delivers the last records, none of which counts as an event.
  virtual void finish(const RecordHandler&) {}

  /// Ends Overdue's workload threads, if any still run: they write to memory of the session.
  virtual void end_threads() noexcept {}

  /// Name and value of each setting that can be changed meanwhile, for `overdue ctl get`.
  virtual std::vector<std::pair<std::string, std::string>> settings() const { return {}; }
  /// Applies the words of `overdue ctl set`. Throws Error, and then changes nothing.
  virtual void set(const std::vector<std::string_view>& words);

  /// Notes for the reader of the report, other than losses. Called after the end.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// Size of each CPU's ring: a quarter of a second at 500 000 records a second (16 MiB). On machines
/// with more than 16 CPUs less, 256 MiB in all, but at least 1 MiB.
std::size_t default_ring_bytes();

}  // namespace overdue

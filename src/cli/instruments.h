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

/// What a command measures with: the probes it puts into a session, and what only they know. The
/// rest of a measurement (targets, signals, intervals, the end) is the same for all commands. Used
/// by the measuring thread only; a member function is called in the order they stand here, from
/// `armed` on repeatedly.
class Instruments {
 public:
  virtual ~Instruments() = default;

  /// "measure system calls", for the sentence that says why not; and whether the kernel allows it.
  virtual std::string_view purpose() const = 0;
  virtual Support support(const Kernel& kernel) const = 0;
  /// Of each CPU's ring; 0: none is needed.
  virtual std::size_t ring_bytes() const = 0;

  /// Adds the probes, attached; on `cpus` only, unless that is empty.
  virtual void add_to(Session& session, const Kernel& kernel,
                      const std::vector<std::uint32_t>& cpus) = 0;
  /// How the report names the way it was measured.
  virtual std::string backend() const { return "tp_btf"; }
  /// Spans begin to count.
  virtual void armed(KernelTime /*start*/) {}

  /// How many events a record stands for; and how many there were besides, after the end.
  virtual std::uint64_t events_in(const Record& record) const = 0;
  virtual std::uint64_t events() const { return 0; }
  /// Whether switches of threads have programs of ours: each time the target leaves a CPU is an
  /// event.
  virtual bool look_at_switches() const { return false; }
  /// Whether programs may be attached while it measures.
  virtual bool attaches_later() const { return false; }
  /// Whether any program that is started makes at least one event: that there is none means that
  /// our hooks do not run.
  virtual bool sees_any_program() const { return false; }
  /// How often rings and cells must be looked at.
  virtual Duration poll_every() const = 0;
  /// When poll() wants to be called, besides.
  virtual KernelTime due() const { return KernelTime::max(); }
  /// May deliver records besides those of the rings.
  virtual void poll(KernelTime /*now*/, const RecordHandler&) {}
  /// Measuring is about to end. Returns when it did, where that is earlier than what follows.
  virtual KernelTime ending() { return KernelTime::max(); }

  /// Ends threads of ours that write to what goes with the session, if there still are some.
  virtual void end_threads() noexcept {}

  /// What can be changed while it runs, and is: name and value, for `overdue ctl get`.
  virtual std::vector<std::pair<std::string, std::string>> settings() const { return {}; }
  /// The words of `overdue ctl set`. Throws Error, and changes nothing then.
  virtual void set(const std::vector<std::string_view>& words);

  /// What the reader of the report must know besides losses. After the end.
  virtual std::vector<std::string> notes() const { return {}; }
};

/// A ring for each CPU that takes a quarter of a second at 500 000 records a second (16 MiB); less
/// on big machines, 256 MiB in all.
std::size_t default_ring_bytes();

}  // namespace overdue

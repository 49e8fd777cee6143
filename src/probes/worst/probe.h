#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "bpf/worst.h"
#include "core/probe.h"
#include "kernel/live_probe.h"

namespace overdue {

struct WorstOptions {
  worst_tracer tracer = WORST_WAKEUP;
  bool whole_machine = false;  ///< any woken thread, not only members
  bool events = false;         ///< also records interrupts and all wakings in a window
  std::uint64_t keep = 1;      ///< number of longest windows to keep; 0: all from `threshold` on
  Duration threshold{};        ///< shorter windows are not kept
  std::vector<std::uint32_t> cpus = {};    ///< CPUs on which the woken thread last ran; empty: all
  std::uint32_t events_per_cpu = 1 << 10;  ///< room for events of a window; a power of two
};

/// Tracks wake-ups, one at a time on the whole machine or all of a target's, and keeps the longest
/// with the events meanwhile. Its records are a worst_window and its events behind it, delivered by
/// poll() and at the end. The constructor loads and attaches the programs.
class WorstProbe final : public LiveProbe {
 public:
  WorstProbe(const WorstOptions& options, const SharedMaps& shared);
  ~WorstProbe() override;

  /// Delivers the windows kept since the last call. At most seven windows wait: call it often.
  void poll(const RecordHandler& handler);
  /// From now on only windows longer than `latency_ns` are kept.
  void raise_bar(std::uint64_t latency_ns);

  struct Figures {
    std::uint64_t tracked = 0;     ///< wake-ups tracked to their end
    std::uint64_t displaced = 0;   ///< wake-ups abandoned for higher-priority ones
    std::uint64_t longest_ns = 0;  ///< longest latency of a tracked wake-up
    std::uint64_t busy = 0;        ///< begins or ends missed because another CPU held the lock
    std::uint64_t windows = 0;     ///< windows worth keeping that found no room
    std::uint64_t unseen = 0;      ///< tracked threads that ran unreported by the kernel
  };
  Figures figures() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  std::vector<std::string> left_out() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo worst_probe;
extern const Schema worst_window_schema;
extern const Schema worst_event_schema;
/// Made by the kernel's own latency tracers, not by the probe.
extern const Schema tracer_text_schema;

}  // namespace overdue

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
  bool whole_machine = false;  ///< whoever is woken, not members alone
  bool events = false;         ///< what happens meanwhile: interrupts too, and all wakings
  std::uint64_t keep = 1;      ///< as many of the longest; 0: all from the threshold on
  Duration threshold{};        ///< shorter ones are not kept
  std::vector<std::uint32_t> cpus = {};    ///< where the woken thread last ran; empty: all
  std::uint32_t events_per_cpu = 1 << 10;  ///< that a window has room for; a power of two
};

/// Follows wake-ups, one at a time, and keeps the longest with what happened meanwhile. Its records
/// are a worst_window and its events behind it, delivered by poll() and at the end. Loaded and
/// attached by the constructor.
class WorstProbe final : public LiveProbe {
 public:
  WorstProbe(const WorstOptions& options, const SharedMaps& shared);
  ~WorstProbe() override;

  /// Delivers the windows that were kept since the last call. At most eight wait: call it often.
  void poll(const RecordHandler& handler);
  /// From now on only windows longer than this are kept.
  void raise_bar(std::uint64_t latency_ns);

  struct Figures {
    std::uint64_t followed = 0;    ///< wake-ups, to their end
    std::uint64_t displaced = 0;   ///< given up for more important ones
    std::uint64_t longest_ns = 0;  ///< of those followed
    std::uint64_t busy = 0;        ///< not followed, or not ended, since another CPU was at it
    std::uint64_t windows = 0;     ///< worth keeping, and not kept
    std::uint64_t unseen = 0;      ///< ran, and the kernel did not say so
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

}  // namespace overdue

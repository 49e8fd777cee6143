#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/time.h"
#include "core/probe.h"
#include "kernel/features.h"
#include "kernel/live_probe.h"
#include "probes/pairs/hook.h"
#include "probes/pairs/pairs.h"
#include "probes/pairs/spec.h"

namespace overdue {

struct PairsOptions {
  std::vector<PairSpec> pairs;      ///< at most PAIRS_MAX
  bool whole_machine = false;       ///< spans count, whichever thread begins them
  std::vector<std::uint32_t> cpus;  ///< CPUs on which spans begin; empty: all
  std::uint32_t max_open = 16384;   ///< limit of open spans, for all of `pairs` together
  /// Bytes of the user stack to copy from a thread that ends a span that it began; 0: none.
  std::size_t user_stack_bytes = 0;
};

/// User spans on the running kernel. The constructor loads and attaches the programs, and throws
/// Error as make_hooks() does. Writes a span_record (SPAN_PAIR) for each span that takes as long as
/// its own threshold or, without one, as control().threshold_ns[SPAN_PAIR].
class PairsProbe final : public LiveProbe {
 public:
  /// Only the constructor uses `finder`.
  PairsProbe(const PairsOptions& options, const SharedMaps& shared, const Kernel& kernel,
             EventFinder& finder);
  ~PairsProbe() override;

  void drain_cells(std::uint32_t epoch, KernelTime now, const RecordHandler& handler) override;
  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void end_calibration() override;

  /// Sets the threshold of one span, by its index in the options; nothing: that of SPAN_PAIR
  /// applies. May be called at any time. A zero threshold reports every span.
  void set_threshold(std::size_t pair, std::optional<Duration> threshold);
  /// The counts of one span, by its index in the options.
  pair_counts counts(std::size_t pair) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo pairs_probe;

}  // namespace overdue

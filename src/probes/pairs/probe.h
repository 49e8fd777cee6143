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
  bool whole_machine = false;       ///< spans count whoever begins them
  std::vector<std::uint32_t> cpus;  ///< where they begin; empty: all
  std::uint32_t most_open = 16384;  ///< of all pairs, at the same time
  /// How much of the user stack to copy of who ends a span that it began; 0: none.
  std::size_t user_stack_bytes = 0;
};

/// User-defined spans on the running kernel. Loaded and attached by the constructor, which throws
/// Error as make_hooks() does. Writes a span_record (SPAN_PAIR) for each that takes as long as its
/// own threshold or, without one, as control().threshold_ns[SPAN_PAIR].
class PairsProbe final : public LiveProbe {
 public:
  /// `finder` is used by the constructor alone.
  PairsProbe(const PairsOptions& options, const SharedMaps& shared, const Kernel& kernel,
             EventFinder& finder);
  ~PairsProbe() override;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;
  void end_calibration() override;

  /// Of one pair, by its place in the options; nothing: that of SPAN_PAIR holds. May be called at
  /// any time. A zero threshold reports every span.
  void set_threshold(std::size_t pair, std::optional<Duration> threshold);
  /// What one pair has seen.
  pair_counts counts(std::size_t pair) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo pairs_probe;

}  // namespace overdue

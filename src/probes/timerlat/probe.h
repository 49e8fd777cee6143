#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bpf/timerlat.h"
#include "core/probe.h"
#include "kernel/live_probe.h"

namespace overdue {

/// Durations of 0 are none.
struct TimerlatOptions {
  Duration stop_irq{};      ///< stop after an activation whose interrupt is as late as this
  Duration stop_total{};    ///< … whose thread is
  Duration stop_user{};     ///< … that is as late back in its program
  Duration stack_over{};    ///< where the CPU was at the interrupt, of activations as late as this
  Duration silence_over{};  ///< silences of a CPU that last as long are kept in its slot
};

/// A timerlat_activation for every activation of threads that sleep with clock_nanosleep(2), one a
/// CPU, pinned. Loaded and attached by the constructor.
class TimerlatProbe final : public LiveProbe {
 public:
  TimerlatProbe(const TimerlatOptions& options, const SharedMaps& shared);
  ~TimerlatProbe() override;

  /// Where the thread of a CPU, which it is pinned to, says who it is and when it is back. Valid as
  /// long as this; to be written by that thread only. Throws Error for a CPU beyond those that can
  /// be measured.
  timerlat_slot& slot(std::uint32_t cpu);
  /// Not 0 from when an activation was over a limit: there come no more, but that one. Valid as
  /// long as this; may be read by any thread.
  const u32& stopping() const;
  /// That one has been told of.
  bool finished() const;

  void finish(KernelTime end, const RecordHandler& handler) override;
  const Schema* schema(std::uint16_t kind) const override;
  Counters counters() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

extern const ProbeInfo timerlat_probe;
extern const Schema timerlat_activation_schema;

}  // namespace overdue

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bpf/timerlat.h"
#include "core/probe.h"
#include "kernel/live_probe.h"

namespace overdue {

/// A duration of 0 turns its option off.
struct TimerlatOptions {
  Duration stop_irq{};      ///< stop after an activation whose interrupt is this late
  Duration stop_total{};    ///< … whose thread runs this late
  Duration stop_user{};     ///< … whose thread is back in its program this late
  Duration stack_over{};    ///< report the stack at the interrupt, for activations this late
  Duration silence_over{};  ///< keep silences of a CPU this long in its slot
};

/// A timerlat_activation for every activation of threads that sleep with clock_nanosleep(2), one
/// pinned thread per CPU. The constructor loads and attaches the programs.
class TimerlatProbe final : public LiveProbe {
 public:
  TimerlatProbe(const TimerlatOptions& options, const SharedMaps& shared);
  ~TimerlatProbe() override;

  /// The slot of a CPU, in which the thread pinned to it writes its tid and when it is back. Valid
  /// as long as this object. In user space, only that thread may write to it. Throws Error for a
  /// CPU beyond those that can be measured.
  timerlat_slot& slot(std::uint32_t cpu);
  /// Not 0 once an activation was over a limit: that activation is the last one reported. Valid as
  /// long as this object; any thread may read it.
  const u32& stopping() const;
  /// Whether that activation has been reported.
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
extern const Schema timerlat_cpu_schema;

}  // namespace overdue

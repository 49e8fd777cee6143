#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/latency_window.h"
#include "core/preemption.h"
#include "core/record.h"
#include "core/stack_namer.h"

namespace overdue {

/// Puts windows together: a worst_window record and the worst_event records behind it. Bytes that
/// end too early, or events without a window, are left out. One thread.
class WindowAssembler {
 public:
  using Handler = std::function<void(LatencyWindow)>;
  WindowAssembler(StackNamer& namer, Preemption preemption, Handler handler)
      : namer_(namer), preemption_(std::move(preemption)), handler_(std::move(handler)) {}

  void record(const Record& record);
  /// There will be no more: the last one is delivered with what events have come.
  void finish();

 private:
  void window(const Record& record);
  void deliver();

  StackNamer& namer_;
  Preemption preemption_;
  Handler handler_;
  std::optional<LatencyWindow> open_;
  std::vector<worst_event> events_;
  std::uint32_t expected_ = 0;  ///< events of the open one
  std::uint64_t number_ = 0;
};

/// The columns of flags in the kernel's latency format: interrupts off, need to be rescheduled,
/// interrupt, depth of preemption disabled. `own_depth` is what tracing adds to that.
std::string window_flags(const worst_event& event, unsigned own_depth,
                         const Preemption& preemption);

}  // namespace overdue

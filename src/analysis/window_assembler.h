#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/latency_window.h"
#include "core/preemption.h"
#include "core/record.h"
#include "core/stack_namer.h"

namespace overdue {

/// Assembles windows from a worst_window record and the worst_event records that follow. Leaves out
/// truncated data and events without a window. Used by one thread.
class WindowAssembler {
 public:
  using Handler = std::function<void(LatencyWindow)>;
  WindowAssembler(StackNamer& namer, Preemption preemption, Handler handler)
      : namer_(namer), preemption_(std::move(preemption)), handler_(std::move(handler)) {}

  void record(const Record& record);
  /// Delivers the last window with the events that have come: no more records will come.
  void finish();

 private:
  void window(const Record& record);
  void deliver();

  StackNamer& namer_;
  Preemption preemption_;
  Handler handler_;
  std::optional<LatencyWindow> open_;
  std::vector<worst_event> events_;
  std::uint32_t expected_ = 0;  ///< number of events of the open window
  std::uint64_t number_ = 0;
};

/// The flag columns of the kernel's latency format: irqs-off, need-resched, hardirq/softirq,
/// preempt-depth. `own_depth` is the preemption depth that tracing itself adds.
std::string window_flags(const worst_event& event, unsigned own_depth,
                         const Preemption& preemption);

}  // namespace overdue

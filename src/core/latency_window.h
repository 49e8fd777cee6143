#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "bpf/worst.h"
#include "core/finding.h"
#include "core/session_info.h"
#include "core/stack.h"

namespace overdue {

/// Something that happened within a window.
struct WindowEvent {
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
  ThreadName thread{};  ///< who ran there
  std::int32_t prio = 0;
  worst_event_kind kind{};
  /// As the kernel prints them: interrupts off, to be rescheduled, in an interrupt, preemption
  /// depth.
  std::string flags{};
  ThreadName other{};  ///< who is switched to, woken, moved
  std::int32_t other_prio = 0;
  std::uint32_t number = 0;  ///< CPU of the wake-up or migration; interrupt, vector, soft interrupt
  std::uint32_t state = 0;   ///< as struct worst_event has it
  std::string name{};        ///< of the interrupt; raw
};

/// One of the longest latencies, and what happened from its begin to its end.
struct LatencyWindow {
  std::string_view tracer;  ///< "wakeup", …
  std::uint64_t number = 0;
  KernelTime time{};  ///< its end
  std::uint64_t begin_ns = 0;
  std::uint64_t latency_ns = 0;
  std::uint64_t queued_ns = 0;  ///< of it: until the thread came into a run queue; 0: not seen
  ThreadName thread;            ///< whose latency it is
  std::uint32_t cpu = 0;        ///< where it ended
  std::uint32_t queued_cpu = 0;
  std::uint32_t uid = 0;
  std::int32_t nice = 0;
  std::uint32_t policy = 0;
  std::uint32_t rt_priority = 0;
  std::int32_t prio = 0;  ///< as the kernel counts: the lower the more important
  ThreadName waker;       ///< or who was interrupted by what woke it
  std::uint32_t waker_cpu = 0;
  Stack waking_stack;  ///< without what called us; of a lower bound: where the CPU was at its begin
  Stack end_stack;
  std::vector<WindowEvent> events;  ///< in time order
  std::uint64_t lost_events = 0;    ///< within it, beyond those
  /// Empty where the figure is the latency itself; else it is a lower bound, and this says of what.
  std::string lower_bound;
  std::string kernel_text;  ///< of the kernel's own tracer: all it prints, raw; then there are no
                            ///< events, and no begin
  std::string preemption = "unknown";  ///< the kernel's model, as its tracers call it
};

/// "wakeup", …; "unknown" for one of versions we do not know.
std::string_view tracer_name(std::uint16_t tracer);
/// "sched_switch", …: as the kernel's tracepoints are called.
std::string_view window_event_name(worst_event_kind kind);
/// One letter, as ps prints it: R, S, D, …
char task_state_letter(std::uint32_t state);

/// Adds the frames of its stacks.
void count_frames(const LatencyWindow& window, FrameCounts& counts);

}  // namespace overdue

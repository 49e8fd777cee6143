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

/// An event within a window.
struct WindowEvent {
  std::uint64_t time_ns = 0;
  std::uint32_t cpu = 0;
  ThreadName thread{};  ///< thread that ran on the CPU
  std::int32_t prio = 0;
  worst_event_kind kind{};
  /// In the kernel's notation: interrupts off, reschedule needed, in an interrupt, preemption
  /// depth.
  std::string flags{};
  ThreadName other{};  ///< thread that is switched in, woken or migrated
  std::int32_t other_prio = 0;
  std::uint32_t number = 0;  ///< CPU of the wake-up or migration; interrupt, vector, softirq
  std::uint32_t state = 0;   ///< as worst_event::state
  std::string name{};        ///< name of the interrupt; raw
};

/// One of the longest latencies, and the events from its begin to its end.
struct LatencyWindow {
  std::string_view tracer;  ///< "wakeup", …
  std::uint64_t number = 0;
  KernelTime time{};  ///< end of the latency
  std::uint64_t begin_ns = 0;
  std::uint64_t latency_ns = 0;
  std::uint64_t queued_ns = 0;  ///< part until the thread was in a run queue; 0: not seen
  ThreadName thread;            ///< the late thread
  std::uint32_t cpu = 0;        ///< CPU on which the latency ended
  std::uint32_t queued_cpu = 0;
  std::uint32_t uid = 0;
  std::int32_t nice = 0;
  std::uint32_t policy = 0;
  std::uint32_t rt_priority = 0;
  std::int32_t prio = 0;  ///< kernel priority: a lower value is a higher priority
  ThreadName waker;       ///< waker, or the thread that the waking interrupt interrupted
  std::uint32_t waker_cpu = 0;
  Stack waking_stack;  ///< without tracing frames; of a lower bound: the stack at its begin
  Stack end_stack;
  std::vector<WindowEvent> events;  ///< in time order
  std::uint64_t lost_events = 0;    ///< events in the window that were lost
  /// Evidence of a lower bound: "a timer interrupt that came late"; empty: latency_ns is exact.
  std::string lower_bound;
  std::string kernel_text;  ///< output of the kernel's own tracer, raw; there are then no events,
                            ///< and no begin
  std::string preemption = "unknown";  ///< preemption model in the words of the kernel's tracers
};

/// "wakeup", …; "unknown" for tracers of newer versions.
std::string_view tracer_name(std::uint16_t tracer);
/// The name of the kernel's tracepoint: "sched_switch", ….
std::string_view window_event_name(worst_event_kind kind);
/// One letter, as in ps(1): R, S, D, …
char task_state_letter(std::uint32_t state);

/// Adds the frames of the window's stacks.
void count_frames(const LatencyWindow& window, FrameCounts& counts);

}  // namespace overdue

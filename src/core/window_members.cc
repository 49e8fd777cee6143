#include "core/window_members.h"

#include <algorithm>
#include <array>

#include "core/finding_members.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 7> tracers{
    "wakeup", "wakeup_rt", "wakeup_dl", "irqsoff", "preemptoff", "preemptirqsoff", "unknown"};

/// All members of a thread, known or not.
void describe_whole_thread(Members& member, const ThreadName& thread) {
  member("pid", thread.pid);
  member("tid", thread.tid);
  member("comm", thread.comm);
}

/// The other thread of an event, or its interrupt.
void describe_other(Members& member, const WindowEvent& event) {
  const bool is_interrupt =
      event.kind >= WORST_EVENT_IRQ_ENTRY && event.kind <= WORST_EVENT_SOFTIRQ_EXIT;
  const bool is_switch = event.kind == WORST_EVENT_SWITCH;
  const char state = task_state_letter(event.state);
  member("number", when(is_interrupt, event.number),
         {.help = "number of the interrupt, vector or soft interrupt"});
  member("name", when(is_interrupt && !event.name.empty(), event.name),
         {.help = "name of the interrupt"});
  member.object_if(!is_interrupt, "other",
                   [&] {
                     member("tid", event.other.tid);
                     member("comm", event.other.comm);
                     member("prio", event.other_prio);
                   },
                   {.help = "thread that is switched in, woken or migrated"});
  member("state", when(is_switch, std::string_view(&state, 1)),
         {.help = "state of the thread that leaves the CPU, one letter as in ps; R: preempted"});
  member("to_cpu", when(!is_interrupt && !is_switch, event.number),
         {.help = "CPU of the wake-up or migration"});
}

void describe_event(Members& member, const WindowEvent& event, std::uint64_t begin_ns) {
  member.type("window_event", "An event within a window");
  member("time_ns", event.time_ns, {.help = "time on CLOCK_MONOTONIC"});
  member("since_begin_ns", event.time_ns - begin_ns, {.help = "time since the window's begin"});
  member("event", window_event_name(event.kind), {.help = "name of the tracepoint"});
  member("cpu", event.cpu);
  describe_whole_thread(member, event.thread);
  member("prio", event.prio, {.help = "kernel priority of the thread that ran on the CPU"});
  member("flags", event.flags,
         {.help = "as in the kernel's latency format: irqs-off, need-resched, hardirq/softirq, "
                  "preempt-depth"});
  describe_other(member, event);
}

/// The lines that the kernel printed.
std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

void describe_latency(Members& member, const LatencyWindow& window) {
  const bool by_kernel = !window.kernel_text.empty();
  member("tracer", window.tracer,
         {.help = "kind of the latency; unknown: of a newer version", .choices = tracers});
  member("number", window.number);
  member("latency_ns", window.latency_ns);
  member("exact", window.lower_bound.empty(), {.help = "false: latency_ns is a lower bound"});
  member("lower_bound", when(!window.lower_bound.empty(), window.lower_bound),
         {.help = "evidence of the lower bound"});
  member("begin_ns", when(!by_kernel, window.begin_ns),
         {.help = "begin of the latency on CLOCK_MONOTONIC"});
  member("time_ns",
         when(!by_kernel, static_cast<std::uint64_t>(window.time.time_since_epoch().count())),
         {.help = "end of the latency on this clock"});
  member("queued_ns", when(window.queued_ns > 0, window.queued_ns),
         {.help = "part of latency_ns until the thread was in a run queue; the kernel's tracers "
                  "begin there"});
}

void describe_late_thread(Members& member, const LatencyWindow& window) {
  member("tid", window.thread.tid, {.help = "the late thread"});
  member("comm", window.thread.comm);
  member("pid", when(window.kernel_text.empty(), window.thread.pid));
  member("cpu", window.cpu, {.help = "CPU on which the latency ended"});
  member("queued_cpu", window.queued_cpu, {.help = "CPU of the run queue"});
  member("uid", window.uid);
  member("nice", window.nice);
  member("policy", window.policy,
         {.help = "scheduling policy: 0 other, 1 FIFO, 2 RR, 3 batch, 5 idle, 6 deadline"});
  member("rt_priority", window.rt_priority);
}

/// What the kernel's own tracer does not show.
void describe_seen(Members& member, const LatencyWindow& window) {
  const bool by_kernel = !window.kernel_text.empty();
  const bool is_exact = window.lower_bound.empty();
  member("prio", when(!by_kernel, window.prio),
         {.help = "kernel priority of the late thread: -1 a deadline, 0 to 98 real-time, 120 nice "
                  "0"});
  member.object_if(!by_kernel && is_exact, "waker",
                   [&] {
                     describe_whole_thread(member, window.waker);
                     member("cpu", window.waker_cpu);
                     member("stack", window.waking_stack);
                   },
                   {.help = "waker, or the thread that the waking interrupt interrupted"});
  member("begin_stack", when(!by_kernel && !is_exact, window.waking_stack),
         {.help = "stack of the CPU at the begin of a lower bound; empty: not seen"});
  member("end_stack", when(!by_kernel, window.end_stack),
         {.help = "stack of the CPU at the switch to the thread; of a lower bound, when the CPU "
                  "could switch again"});
  if (!by_kernel || member.describes_types())
    member.list(
        "events", window.events,
        [&](const WindowEvent& event) { describe_event(member, event, window.begin_ns); },
        {.help = "events from the begin to the end; the thread of each is the one that ran on the "
                 "CPU",
         .below = true,
         .is_optional = true});
}

}  // namespace

void describe(Members& member, const LatencyWindow& window) {
  const bool by_kernel = !window.kernel_text.empty();
  member.type("window", "One of the longest latencies of a kind, and the events within it");
  describe_latency(member, window);
  describe_late_thread(member, window);
  member("lost_events", window.lost_events,
         {.help = "number of events in the window that were lost"});
  member("lines", when(by_kernel, lines_of(window.kernel_text)),
         {.help = "with --backend kernel: lines that the kernel printed, instead of the members "
                  "below",
          .below = true});
  describe_seen(member, window);
}

void describe_window_cells(Members& cell, const LatencyWindow& window) {
  const bool is_ours = window.kernel_text.empty();  // the kernel's text has no time and no process
  const std::optional<std::uint64_t> unknown;
  const auto known = [&](std::string_view key, std::uint64_t value, bool is_known) {
    cell(key, is_known ? or_null(&value) : or_null(unknown));
  };
  cell("type", "worst");
  cell("tracer", window.tracer);
  cell("number", window.number);
  cell("latency_ns", window.latency_ns);
  cell("exact", window.lower_bound.empty());
  known("begin_ns", window.begin_ns, is_ours);
  known("time_ns", window.time.time_since_epoch().count(), is_ours);
  known("pid", window.thread.pid, is_ours);
  cell("tid", window.thread.tid);
  cell("comm", window.thread.comm);
  cell("cpu", window.cpu);
  cell("policy", window.policy);
  cell("rt_priority", window.rt_priority);
  cell("nice", window.nice);
  const bool has_waker = is_ours && window.lower_bound.empty();
  known("waker_tid", window.waker.tid, has_waker);
  cell("waker_comm", has_waker ? window.waker.comm : std::string());
  known("waker_cpu", window.waker_cpu, has_waker);
  cell("lost_events", window.lost_events);
}

}  // namespace overdue

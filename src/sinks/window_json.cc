#include "sinks/window_json.h"

#include <algorithm>

#include "sinks/finding_json.h"

namespace overdue {
namespace {

void write_event_thread(JsonWriter& json, const ThreadName& thread) {
  json.member("pid", std::uint64_t{thread.pid});
  json.member("tid", std::uint64_t{thread.tid});
  json.member("comm", thread.comm);
}

void write_other(JsonWriter& json, const WindowEvent& event) {
  if (event.kind >= WORST_EVENT_IRQ_ENTRY && event.kind <= WORST_EVENT_SOFTIRQ_EXIT) {
    json.member("number", std::uint64_t{event.number});
    if (!event.name.empty()) json.member("name", event.name);
    return;
  }
  json.key("other");
  json.begin_object();
  json.member("tid", std::uint64_t{event.other.tid});
  json.member("comm", event.other.comm);
  json.member("prio", std::int64_t{event.other_prio});
  json.end_object();
  if (event.kind == WORST_EVENT_SWITCH) {
    const char state = task_state_letter(event.state);
    json.member("state", std::string_view(&state, 1));
  } else {
    json.member("to_cpu", std::uint64_t{event.number});
  }
}

void write_events(JsonWriter& json, const LatencyWindow& window) {
  json.key("events");
  json.begin_array(JsonWriter::Elements::below);
  for (const WindowEvent& event : window.events) {
    json.begin_object();
    json.member("time_ns", event.time_ns);
    json.member("since_begin_ns", event.time_ns - window.begin_ns);
    json.member("event", window_event_name(event.kind));
    json.member("cpu", std::uint64_t{event.cpu});
    write_event_thread(json, event.thread);
    json.member("prio", std::int64_t{event.prio});
    json.member("flags", event.flags);
    write_other(json, event);
    json.end_object();
  }
  json.end_array(JsonWriter::Elements::below);
}

void write_waker(JsonWriter& json, const LatencyWindow& window) {
  json.key("waker");
  json.begin_object();
  write_event_thread(json, window.waker);
  json.member("cpu", std::uint64_t{window.waker_cpu});
  json.key("stack");
  write_stack(json, window.waking_stack);
  json.end_object();
}

/// Writes the lines that the kernel printed.
void write_lines(JsonWriter& json, std::string_view text) {
  json.key("lines");
  json.begin_array(JsonWriter::Elements::below);
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    json.value(text.substr(at, end - at));
    at = end + 1;
  }
  json.end_array(JsonWriter::Elements::below);
}

}  // namespace

void write_window(JsonWriter& json, const LatencyWindow& window) {
  json.member("tracer", window.tracer);
  json.member("number", window.number);
  json.member("latency_ns", window.latency_ns);
  json.member("exact", window.lower_bound.empty());
  if (!window.lower_bound.empty()) json.member("lower_bound", window.lower_bound);
  if (window.kernel_text.empty()) {
    json.member("begin_ns", window.begin_ns);
    json.member("time_ns", window.time.time_since_epoch().count());
  }
  if (window.queued_ns) json.member("queued_ns", window.queued_ns);
  json.member("tid", std::uint64_t{window.thread.tid});
  json.member("comm", window.thread.comm);
  if (window.kernel_text.empty()) json.member("pid", std::uint64_t{window.thread.pid});
  json.member("cpu", std::uint64_t{window.cpu});
  json.member("queued_cpu", std::uint64_t{window.queued_cpu});
  json.member("uid", std::uint64_t{window.uid});
  json.member("nice", std::int64_t{window.nice});
  json.member("policy", std::uint64_t{window.policy});
  json.member("rt_priority", std::uint64_t{window.rt_priority});
  json.member("lost_events", window.lost_events);
  if (!window.kernel_text.empty()) return write_lines(json, window.kernel_text);
  json.member("prio", std::int64_t{window.prio});
  if (window.lower_bound.empty()) {
    write_waker(json, window);
  } else {
    json.key("begin_stack");
    write_stack(json, window.waking_stack);
  }
  json.key("end_stack");
  write_stack(json, window.end_stack);
  write_events(json, window);
}

const char* const window_definitions = R"json({
  "window": {
    "type": "object",
    "description": "One of the longest latencies of a kind, and what happened within it",
    "required": ["tracer", "number", "latency_ns", "exact", "tid", "comm", "cpu", "lost_events"],
    "oneOf": [{"required": ["begin_ns", "time_ns", "pid", "end_stack", "events"]}, {"required": ["lines"]}],
    "properties": {
      "tracer": {"enum": ["wakeup", "wakeup_rt", "wakeup_dl", "irqsoff", "preemptoff", "preemptirqsoff"]},
      "number": {"$ref": "#/$defs/count"},
      "latency_ns": {"$ref": "#/$defs/ns"},
      "exact": {"type": "boolean", "description": "false: latency_ns is a lower bound"},
      "lower_bound": {"type": "string", "description": "how it was found, where it is one"},
      "begin_ns": {"$ref": "#/$defs/ns", "description": "CLOCK_MONOTONIC"},
      "time_ns": {"$ref": "#/$defs/ns", "description": "its end"},
      "queued_ns": {"$ref": "#/$defs/ns", "description": "of latency_ns: until the thread was in a run queue; the kernel's tracers begin there"},
      "pid": {"$ref": "#/$defs/id"},
      "tid": {"$ref": "#/$defs/id", "description": "whose latency it is"},
      "comm": {"type": "string"},
      "cpu": {"$ref": "#/$defs/id", "description": "where it ended"},
      "queued_cpu": {"$ref": "#/$defs/id"},
      "uid": {"$ref": "#/$defs/id"},
      "nice": {"type": "integer"},
      "policy": {"$ref": "#/$defs/id", "description": "SCHED_…: 0 other, 1 FIFO, 2 RR, 3 batch, 5 idle, 6 deadline"},
      "rt_priority": {"$ref": "#/$defs/id"},
      "prio": {"type": "integer", "description": "as the kernel counts: -1 a deadline, 0 to 98 real-time, 120 nice 0"},
      "waker": {
        "description": "Or who was interrupted by what woke it",
        "allOf": [{"$ref": "#/$defs/who"}],
        "required": ["cpu", "stack"],
        "properties": {"cpu": {"$ref": "#/$defs/id"}, "stack": {"$ref": "#/$defs/stack"}},
        "unevaluatedProperties": false
      },
      "begin_stack": {"$ref": "#/$defs/stack", "description": "of a lower bound: where the CPU was at the begin of it, as far as that was seen"},
      "end_stack": {"$ref": "#/$defs/stack", "description": "where the CPU switched to the thread; of a lower bound: where it could again"},
      "events": {"type": "array", "items": {"$ref": "#/$defs/window_event"}},
      "lines": {"type": "array", "items": {"type": "string"}, "description": "with --backend kernel, instead: what the kernel prints"},
      "lost_events": {"$ref": "#/$defs/count", "description": "within the window, beyond those"}
    }
  },
  "window_event": {
    "description": "What happened within a window; the thread is who ran on that CPU",
    "allOf": [{"$ref": "#/$defs/who"}],
    "required": ["time_ns", "since_begin_ns", "event", "cpu", "prio", "flags"],
    "properties": {
      "time_ns": {"$ref": "#/$defs/ns"},
      "since_begin_ns": {"$ref": "#/$defs/ns"},
      "event": {"type": "string", "description": "name of the tracepoint"},
      "cpu": {"$ref": "#/$defs/id"},
      "prio": {"type": "integer"},
      "flags": {"type": "string", "description": "as in the kernel's latency format: irqs-off, need-resched, hardirq/softirq, preempt-depth"},
      "number": {"$ref": "#/$defs/count", "description": "of the interrupt, vector or soft interrupt"},
      "name": {"type": "string", "description": "of the interrupt"},
      "other": {
        "description": "who is switched to, woken, moved",
        "allOf": [{"$ref": "#/$defs/who"}],
        "properties": {"prio": {"type": "integer"}},
        "unevaluatedProperties": false
      },
      "state": {"type": "string", "description": "of who leaves the CPU: R where it was preempted"},
      "to_cpu": {"$ref": "#/$defs/id"}
    },
    "unevaluatedProperties": false
  }
})json";

const char* const window_lines = R"json([
  {
    "description": "A line of overdue worst with a threshold",
    "properties": {"type": {"const": "worst"}},
    "allOf": [{"$ref": "#/$defs/window"}],
    "unevaluatedProperties": false
  }
])json";

}  // namespace overdue

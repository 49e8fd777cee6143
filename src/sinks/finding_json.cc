#include "sinks/finding_json.h"

#include "base/text.h"

namespace overdue {

void write_stack(JsonWriter& json, const Stack& stack) {
  json.begin_array();
  for (const StackFrame& frame : stack) {
    json.begin_object();
    json.member("name", frame.name);
    json.member("module", frame.module);
    json.member("offset", frame.offset);
    if (!frame.build_id.empty()) json.member("build_id", frame.build_id);
    if (frame.line > 0) {
      json.member("file", frame.file);
      json.member("line", std::uint64_t{frame.line});
    }
    if (frame.is_inlined) json.member("inlined", true);
    if (frame.follows_gap) json.member("gap", true);
    json.end_object();
  }
  json.end_array();
}

void write_throttle(JsonWriter& json, const std::optional<Throttle>& by) {
  if (!by) return;
  json.key("throttled_by");
  json.begin_object();
  json.member("limit", by->of_real_time ? "real_time" : "quota");
  json.member("cgroup", by->cgroup);
  json.member("cgroup_id", by->cgroup_id);
  json.member("quota_ns", by->quota_ns);
  json.member("period_ns", by->period_ns);
  json.end_object();
}

namespace {

void write_thread(JsonWriter& json, const ThreadName& thread) {
  if (thread.pid) json.member("pid", std::uint64_t{thread.pid});
  json.member("tid", std::uint64_t{thread.tid});
  json.member("comm", thread.comm);
}

/// Writes the interrupt of a Waker or a ChainLink.
template <typename T>
void write_interrupt(JsonWriter& json, const T& by) {
  if (!by.means.empty()) json.member("means", by.means);
  if (!by.disk.empty()) json.member("disk", by.disk);
  json.key("interrupted");
  json.begin_object();
  write_thread(json, by.interrupted);
  json.end_object();
}

void write_stop(JsonWriter& json, const std::optional<StopSignal>& stop) {
  if (!stop) return;
  json.key("stopped_by");
  json.begin_object();
  json.member("signal", stop->name);
  if (stop->sender) write_thread(json, *stop->sender);
  json.end_object();
}

void write_waker(JsonWriter& json, const Waker& waker) {
  json.begin_object();
  if (waker.is_thread) {
    json.member("pid", std::uint64_t{waker.thread.pid});
    json.member("tid", std::uint64_t{waker.thread.tid});
    json.member("comm", waker.thread.comm);
  }
  json.member("context", waker.context);
  if (!waker.is_thread) write_interrupt(json, waker);
  json.key("stack");
  write_stack(json, waker.stack);
  json.end_object();
}

void write_on_cpu(JsonWriter& json, const CpuPlaces& on_cpu) {
  if (on_cpu.samples == 0) return;
  json.key("on_cpu");
  json.begin_object();
  json.member("samples", on_cpu.samples);
  json.key("places");
  json.begin_array();
  for (const CpuPlace& place : on_cpu.places) {
    json.begin_object();
    json.member("samples", place.samples);
    json.key("stack");
    write_stack(json, place.stack);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

void write_shares(JsonWriter& json, const CpuShares& shares) {
  if (shares.threads.empty() && !shares.others_ns) return;
  json.key("ran");
  json.begin_array();
  for (const CpuShare& share : shares.threads) {
    json.begin_object();
    write_thread(json, share.thread);
    json.member("ns", share.ns);
    write_on_cpu(json, share.on_cpu);
    json.end_object();
  }
  json.end_array();
  if (shares.others_ns) json.member("ran_others_ns", shares.others_ns);
}

void write_wait(JsonWriter& json, const Wait& wait) {
  json.begin_object();
  json.member("ns", wait.ns);
  json.member("runqueue_ns", wait.runqueue_ns);
  json.member("throttled_ns", wait.throttled_ns);
  json.member("state", wait.state);
  if (!wait.means.empty()) json.member("means", wait.means);
  write_stop(json, wait.stop);
  json.key("kernel_stack");
  write_stack(json, wait.kernel_stack);
  if (wait.waker) {
    json.key("waker");
    write_waker(json, *wait.waker);
  }
  const auto thread = [&](std::string_view key, const std::optional<ThreadName>& who) {
    if (!who) return;
    json.key(key);
    json.begin_object();
    write_thread(json, *who);
    json.end_object();
  };
  thread("displaced_by", wait.displacer);
  write_shares(json, wait.ran);
  write_throttle(json, wait.throttle);
  json.end_object();
}

void write_breakdown(JsonWriter& json, const Breakdown& parts) {
  json.key("breakdown");
  json.begin_object();
  json.member("oncpu_ns", parts.oncpu_ns);
  json.member("runqueue_ns", parts.runqueue_ns);
  json.member("preempted_ns", parts.preempted_ns);
  json.member("throttled_ns", parts.throttled_ns);
  json.member("blocked_ns", parts.blocked_ns());
  json.member("irq_ns", parts.irq_ns);
  json.member("softirq_ns", parts.softirq_ns);
  json.member("unknown_ns", parts.unknown_ns);
  json.end_object();
  json.key("blocked");
  json.begin_object();
  json.member("sleeping_ns", parts.sleeping_ns);
  json.member("uninterruptible_ns", parts.uninterruptible_ns);
  json.end_object();
}

void write_places(JsonWriter& json, const std::vector<WaitPlace>& places) {
  json.key("places");
  json.begin_array();
  for (const WaitPlace& place : places) {
    json.begin_object();
    json.member("state", place.state);
    json.member("ns", place.ns);
    json.member("blocked_ns", place.blocked_ns);
    json.member("longest_ns", place.longest_ns);
    json.member("count", place.count);
    json.key("kernel_stack");
    write_stack(json, place.kernel_stack);
    json.end_object();
  }
  json.end_array();
}

/// Writes the activity of a step's thread in the step's window.
void write_meanwhile(JsonWriter& json, const ChainLink& link) {
  if (!link.ledger) return;
  json.member("during_ns", link.during_ns);
  write_breakdown(json, *link.ledger);
  write_on_cpu(json, link.on_cpu);
  write_places(json, link.places);
}

void write_chain(JsonWriter& json, const std::vector<ChainLink>& chain) {
  json.key("chain");
  json.begin_array();
  for (const ChainLink& link : chain) {
    json.begin_object();
    if (link.is_thread) write_thread(json, link.thread);
    json.member("what", link.what);
    if (!link.is_thread) write_interrupt(json, link);
    json.member("ns", link.ns);
    if (link.runqueue_ns) json.member("runqueue_ns", link.runqueue_ns);
    write_shares(json, link.ran);
    write_throttle(json, link.throttle);
    json.key("kernel_stack");
    write_stack(json, link.kernel_stack);
    if (!link.user_stack.empty()) {
      json.key("user_stack");
      write_stack(json, link.user_stack);
    }
    if (!link.waking_stack.empty()) {
      json.key("waking_stack");
      write_stack(json, link.waking_stack);
    }
    write_meanwhile(json, link);
    if (link.is_root) json.member("root", true);
    if (link.is_cut) json.member("cut", true);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

void write_finding(JsonWriter& json, const Finding& finding) {
  json.member("number", finding.number);
  if (finding.like) json.member("like", finding.like);
  json.member("span", finding.span);
  json.member("name", finding.name);
  json.member("time_ns", finding.time.time_since_epoch().count());
  json.member("pid", std::uint64_t{finding.thread.pid});
  json.member("tid", std::uint64_t{finding.thread.tid});
  json.member("comm", finding.thread.comm);
  json.member("thread", finding.thread.comm);
  if (finding.ended_by) {
    json.key("ended_by");
    json.begin_object();
    write_thread(json, *finding.ended_by);
    json.end_object();
  }
  json.member("cpu", std::uint64_t{finding.cpu});
  if (finding.cgroup_id) json.member("cgroup_id", finding.cgroup_id);
  json.member("latency_ns", finding.latency_ns);
  if (finding.threshold_ns) json.member("threshold_ns", finding.threshold_ns);
  if (!finding.purpose.of.empty()) {
    json.member("late_ns", finding.late_ns());
    json.member("waited_for", finding.purpose.of);
    if (!finding.purpose.by.empty()) json.member("decided_by", finding.purpose.by);
  }
  if (finding.hang) json.member("hang", finding.hang);
  if (!finding.state.empty()) json.member("state", finding.state);
  if (finding.is_older) json.member("older", true);
  if (finding.is_way_back) json.member("way_back", true);
  if (finding.handler) {
    json.key("handler");
    json.begin_object();
    json.member("signal", finding.handler->signal);
    json.member("ns", finding.handler->ns);
    json.end_object();
  }
  if (!finding.arguments.empty()) {
    json.key("args");
    json.begin_array();
    for (const std::string& argument : finding.arguments) json.value(argument);
    json.end_array();
  }
  if (finding.result) {
    json.key("ret");
    json.value(*finding.result);
  }
  if (!finding.error.empty()) json.member("error", finding.error);
  if (finding.breakdown) write_breakdown(json, *finding.breakdown);
  write_on_cpu(json, finding.on_cpu);
  json.key("waits");
  json.begin_array();
  for (const Wait& wait : finding.waits) write_wait(json, wait);
  json.end_array();
  write_places(json, finding.places);
  if (finding.waits_forgotten) json.member("waits_forgotten", true);
  if (!finding.kernel_stack.empty()) {
    json.key("kernel_stack");
    write_stack(json, finding.kernel_stack);
  }
  if (finding.user_stack) {
    json.key("user_stack");
    write_stack(json, *finding.user_stack);
    if (!finding.user_stack_end.empty()) json.member("user_stack_end", finding.user_stack_end);
  }
  write_chain(json, finding.chain);
  json.member("cause", finding.cause);
}

}  // namespace overdue

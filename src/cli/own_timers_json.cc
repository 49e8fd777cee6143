#include "cli/own_timers_json.h"

#include "base/text.h"
#include "cli/kernel_stacks.h"
#include "cli/timerlat_json.h"
#include "sinks/finding_json.h"

namespace overdue {
namespace {

using Elements = JsonWriter::Elements;

void write_late(JsonWriter& json, const LateTimer& late, StackNamer& stacks) {
  const own_timer& timer = late.timer;
  json.begin_object();
  json.member("timer", late.name);
  json.member("time_ns", timer.header.time_ns);
  json.member("tid", timer.header.tid);
  json.member("cpu", timer.header.cpu);
  json.member("expires_ns", timer.expires_ns);
  json.member("latency_ns", late.latency_ns);
  json.member("irq_delay_ns", latency_in(timer, TimerContext::irq));
  json.key("parts");
  json.begin_array();
  for (const LatenessPart& part : late.parts) {
    json.begin_object();
    json.member("kind", part.kind);
    json.member("ns", part.ns);
    if (part.tid != 0) {
      json.member("name", part.who);
      json.member("tid", part.tid);
      json.member("ran_ns", part.ran_ns);
    }
    json.end_object();
  }
  json.end_array();
  write_throttle(json, late.throttle);
  json.key("interrupted");
  json.begin_object();
  json.member("cpu", timer.timer_cpu);
  json.member("tid", timer.interrupted_tid);
  json.member("comm", fixed_text(timer.interrupted));
  json.end_object();
  json.key("stack");
  write_stack(json, untraced_stack(stacks, late.addresses));
  json.end_object();
}

}  // namespace

void write_own_timers(JsonWriter& json, const std::vector<const OwnTimerRow*>& rows,
                      StackNamer& stacks) {
  json.key("timers");
  json.begin_array(Elements::below);
  for (const OwnTimerRow* row : rows) {
    json.begin_object();
    json.member("pid", row->pid);
    json.member("tid", row->tid);
    json.member("comm", row->comm);
    json.member("timer", row->timer);
    for (const TimerContext context : timer_contexts) {
      json.key(key_of(context));
      json.begin_object();
      write_latencies(json, row->latencies[index_of(context)]);
      json.end_object();
    }
    json.key("latest");
    write_late(json, row->latest, stacks);
    json.end_object();
  }
  json.end_array(Elements::below);
}

void write_timer_stop(JsonWriter& json, const LateTimer* stop, StackNamer& stacks) {
  json.member_or_null("cause", stop,
                      [&](const LateTimer& late) { write_late(json, late, stacks); });
}

}  // namespace overdue

#include "cli/timerlat_json.h"

#include "base/text.h"
#include "sinks/finding_json.h"

namespace overdue {
namespace {

using Elements = JsonWriter::Elements;

void write_figures(JsonWriter& json, const TimerFigures& figures, const TimerlatPlan& plan) {
  json.begin_object();
  write_latencies(json, figures.latencies);
  if (plan.histogram) {
    json.key("histogram");
    json.begin_array();
    for (const auto& [bucket, count] : figures.counts) {
      json.begin_array();
      json.value(std::uint64_t{bucket * plan.bucket_ns});
      if (bucket < plan.buckets)
        json.value(std::uint64_t{(bucket + 1) * plan.bucket_ns});
      else
        json.null();
      json.value(count);
      json.end_array();
    }
    json.end_array();
  }
  json.end_object();
}

void write_parts(JsonWriter& json, const TimerStop& stop) {
  json.key("parts");
  json.begin_array(Elements::below);
  for (const CausePart& part : stop.cause.parts) {
    json.begin_object();
    json.member("kind", noise_kind_name(part.kind));
    json.member("name", part.name);
    json.member(part.kind == NOISE_THREAD ? "tid" : "number", std::uint64_t{part.number});
    json.member("ns", part.ns);
    json.member("before_irq_ns", part.before_irq_ns);
    json.end_object();
  }
  json.end_array(Elements::below);
}

void write_cause(JsonWriter& json, const TimerStop& stop) {
  const TimerCause& cause = stop.cause;
  const timerlat_activation& activation = cause.activation;
  json.begin_object(Elements::below);
  json.member("cpu", std::uint64_t{activation.header.cpu});
  json.member("id", activation.id);
  json.member("time_ns", cause.end_ns);
  json.member("context", key_of(stop.context));
  json.member("limit_ns", stop.limit_ns);
  json.member("latency_ns", cause.latency_ns);
  json.member("irq_delay_ns", cause.irq_delay_ns);
  write_parts(json, stop);
  json.member("residual_ns", cause.residual_ns);
  json.member("steal_ns", activation.steal_ns);
  json.member("complete", (activation.flags & ACTIVATION_CUT) == 0);
  json.key("interrupted");
  json.begin_object();
  json.member("tid", std::uint64_t{activation.interrupted_tid});
  json.member("comm", fixed_text(activation.interrupted));
  json.member("user_mode", (activation.flags & ACTIVATION_USER_MODE) != 0);
  json.end_object();
  json.member("verdict", delay_cause_name(stop.diagnosis.cause));
  json.member("verdict_ns", stop.diagnosis.ns);
  json.member("who", stop.diagnosis.who);
  json.member("explanation", stop.diagnosis.text);
  json.key("stack");
  write_stack(json, stop.stack);
  json.end_object(Elements::below);
}

}  // namespace

void write_latencies(JsonWriter& json, const Histogram& all) {
  json.member("count", all.count());
  json.member("min_ns", all.min_ns());
  json.member("avg_ns", all.mean_ns());
  json.member("p50_ns", all.quantile_ns(0.5));
  json.member("p99_ns", all.quantile_ns(0.99));
  json.member("max_ns", all.max_ns());
}

void write_timer_cpus(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus) {
  json.key("cpus");
  json.begin_array(Elements::below);
  for (const TimerCpu& cpu : cpus) {
    json.begin_object();
    json.member("cpu", std::uint64_t{cpu.cpu});
    json.member("count", cpu.count);
    json.member("missed", cpu.at_end.missed);
    for (const TimerContext context : timer_contexts) {
      json.key(key_of(context));
      write_figures(json, cpu.of(context), plan);
    }
    json.end_object();
  }
  json.end_array(Elements::below);
}

void write_timerlat(JsonWriter& json, const TimerlatPlan& plan, std::span<const TimerCpu> cpus,
                    const TimerStop* stop) {
  json.member("period_ns", plan.period_ns);
  json.key("priority");
  if (plan.of_program)
    json.null();
  else
    json.value(std::uint64_t(plan.priority));
  write_timer_cpus(json, plan, cpus);
  json.member_or_null("cause", stop, [&](const TimerStop& cause) { write_cause(json, cause); });
}

}  // namespace overdue

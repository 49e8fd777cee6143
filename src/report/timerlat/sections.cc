#include "report/timerlat/sections.h"

#include <array>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "core/finding_members.h"
#include "report/timerlat/text.h"

namespace overdue {
namespace {

constexpr std::array<std::string_view, 3> contexts{
    key_of(TimerContext::irq), key_of(TimerContext::thread), key_of(TimerContext::user)};
constexpr std::array<std::string_view, 7> verdicts{
    "irqs_off", "preemption_off", "interference", "idle_exit", "hardware", "wakeup", "own_work"};

void describe_part(Members& member, const Share& part) {
  const bool is_thread = part.kind == ShareKind::thread;
  member("kind", noise_kind_name(part.kind), {.choices = noise_kind_names});
  member("name", part.name);
  member("number", when(!is_thread, part.number), {.help = "of the interrupt"});
  member("tid", when(is_thread, part.number));
  member("ns", part.ns);
  member("before_irq_ns", part.before_irq_ns, {.help = "part of ns before the timer's interrupt"});
}

void describe_interrupted(Members& member, const timerlat_activation& activation) {
  member("tid", activation.interrupted_tid);
  member("comm", fixed_text(activation.interrupted));
  member("user_mode", (activation.flags & ACTIVATION_USER_MODE) != 0);
}

void describe_cpus(Members& member, const std::vector<TimerCpu>& cpus) {
  member("cpus", cpus, {.below = true});
}

/// A row for each CPU.
void add_rows(CsvRows& csv, const std::vector<TimerCpu>& cpus, std::string_view type,
              const ReportTime& time) {
  csv.rows<TimerCpu>(cpus, [&](Members& cell, const TimerCpu& cpu) {
    describe_row_time(cell, type, time);
    describe(cell, cpu);
  });
}

/// The table, as wide as the terminal allows.
std::string table_in(const ReportContext& context, const std::vector<TimerCpu>& cpus,
                     Duration duration) {
  const bool is_narrow = context.columns != 0 && context.columns < timerlat_table_width;
  return timerlat_table(cpus, duration, is_narrow ? TableWidth::narrow : TableWidth::full);
}

}  // namespace

void describe_timer_latencies(Members& member, const Histogram& latencies,
                              const EvenHistogram* counts) {
  member.type("timer_figures",
              "Latencies from the expiry of the timer. Percentiles are within 6.25 %, all other "
              "figures are exact");
  member("count", latencies.count());
  member("min_ns", latencies.min_ns());
  member("avg_ns", latencies.mean_ns());
  member("p50_ns", latencies.quantile_ns(0.5));
  member("p99_ns", latencies.quantile_ns(0.99));
  member("max_ns", latencies.max_ns());
  const auto buckets = counts ? std::optional(counts->buckets()) : std::nullopt;
  member("histogram", buckets,
         {.help = "with --hist: [low_ns, high_ns, count] of each bucket that is not empty; high_ns "
                  "is exclusive, and null in the last bucket, which has all longer latencies"});
}

void describe(Members& member, const TimerCpu& cpu) {
  member.type("timer_cpu", "Latencies of the activations of one CPU");
  member("cpu", cpu.cpu);
  member("count", cpu.count, {.help = "activations"});
  member("missed", cpu.at_end.missed,
         {.help = "periods that passed while the thread was still late from an earlier one; known "
                  "at the end only, 0 before"});
  for (const TimerContext context : timer_contexts) {
    const TimerFigures& figures = cpu.of(context);
    member.object(key_of(context), [&] {
      describe_timer_latencies(member, figures.latencies,
                               figures.counts ? &*figures.counts : nullptr);
    });
  }
}

void describe(Members& member, const TimerStop& stop) {
  const TimerCause& cause = stop.cause;
  const timerlat_activation& activation = cause.activation;
  member.type("timer_cause",
              "The activation that ended the run: the ns of the parts and residual_ns add up to "
              "latency_ns");
  member("cpu", activation.header.cpu);
  member("id", activation.id, {.help = "number of the activation on its CPU, from 1"});
  member("time_ns", cause.end_ns, {.help = "end of the latency"});
  member("context", key_of(stop.context),
         {.help = "the latency that was over the limit", .choices = contexts});
  member("limit_ns", stop.limit_ns);
  member("latency_ns", cause.latency_ns,
         {.help = "latency of the thread; of context user, until the return to its program"});
  member("irq_delay_ns", cause.irq_delay_ns,
         {.help = "part of latency_ns until the timer's interrupt"});
  member.list(
      "parts", cause.parts.longest_first(), [&](const Share& part) { describe_part(member, part); },
      {.help = "noise by kind and name, longest first; without nested noise", .below = true});
  member("residual_ns", cause.parts.unexplained_ns, {.help = "time without any noise"});
  member("steal_ns", activation.steal_ns,
         {.help = "steal time of the CPU since the previous activation, by the hypervisor"});
  member("complete", (activation.flags & ACTIVATION_CUT) == 0,
         {.help = "false: there was more noise than the record has room for; the oldest is in the "
                  "residual"});
  member.object("interrupted", [&] { describe_interrupted(member, activation); },
                {.help = "the thread that ran when the interrupt came; tid 0: the CPU was idle"});
  member("verdict", delay_cause_name(stop.diagnosis.cause),
         {.help = "cause of the largest share of the latency", .choices = verdicts});
  member("verdict_ns", stop.diagnosis.ns, {.help = "this share"});
  member("who", stop.diagnosis.who, {.help = "the thread or interrupt to blame; empty: none"});
  member("explanation", stop.diagnosis.text, {.help = "a sentence"});
  member("stack", stop.stack, {.help = "kernel stack of the CPU when the interrupt came"});
}

void TimerlatInterval::members(Members& member, const ReportContext&) const {
  describe_time(member);
  describe_cpus(member, cpus_);
}

std::string TimerlatInterval::text(const ReportContext& context) const {
  return table_in(context, cpus_, time().duration);
}

void TimerlatInterval::rows(CsvRows& csv, const ReportContext&) const {
  add_rows(csv, cpus_, "interval", time());
}

void TimerlatReport::members(Members& member, const ReportContext&) const {
  const auto priority = when(!plan_.of_program, static_cast<std::uint32_t>(plan_.priority));
  member("period_ns", plan_.period_ns);
  member("priority", or_null(priority),
         {.help = "priority of SCHED_FIFO; null: the threads are a program's own"});
  describe_cpus(member, cpus_);
}

std::string TimerlatReport::text(const ReportContext& context) const {
  if (plan_.histogram) return timerlat_histogram(cpus_, plan_);
  const bool is_live = context.columns != 0;
  if (was_shown_ && !is_live) return {};
  return table_in(context, cpus_, context.info.duration);
}

void TimerlatReport::rows(CsvRows& csv, const ReportContext& context) const {
  add_rows(csv, cpus_, "total", whole_session(context.info));
}

void TimerlatCause::members(Members& member, const ReportContext&) const {
  member("cause", or_null(stop_), {.help = "null: no limit ended the run", .below = true});
}

std::string TimerlatCause::text(const ReportContext&) const {
  return stop_ ? timerlat_cause(*stop_) : std::string();
}

void TimerlatCause::rows(CsvRows& csv, const ReportContext&) const {
  if (!stop_) return;
  csv.remark(
      fmt::format("cause: cpu={} context={} limit_ns={} latency_ns={} irq_delay_ns={} verdict={} "
                  "explanation={}",
                  stop_->cause.activation.header.cpu, key_of(stop_->context), stop_->limit_ns,
                  stop_->cause.latency_ns, stop_->cause.irq_delay_ns,
                  delay_cause_name(stop_->diagnosis.cause), stop_->diagnosis.text));
}

}  // namespace overdue

#include "report/osnoise/sections.h"

#include <array>
#include <span>

#include <fmt/format.h>

#include "base/time.h"
#include "report/osnoise/text.h"

namespace overdue {
namespace {

constexpr std::size_t parts_shown = 6;  // of a kind, below the table

constexpr std::array<std::string_view, 2> stops{"single", "total"};

constexpr About parts_about{.help =
                                "sources of the noise, longest first; net of nested interferences"};
constexpr std::string_view complete_help =
    "false: more interferences came than are kept; residual_ns has the oldest";

/// The name of the noise that a limit is for.
std::string_view limited(const OsnoiseStop& stop) {
  return stops[stop.single ? 0 : 1];
}

void describe_noise(Members& member, const OsnoiseCpu& cpu) {
  member("samples", cpu.samples, {.help = "periods"});
  member("runtime_ns", cpu.runtime_ns, {.help = "time in which the thread was busy"});
  member("noise_ns", cpu.noise_ns,
         {.help = "sum of the noises in runtime_ns that reach the threshold"});
  member("percent_available", static_cast<double>(cpu.available()) / 100'000,
         {.help = "share of runtime_ns without noise, 0 to 100"});
  member("max_noise_ns", cpu.max_noise_ns, {.help = "largest noise of a period"});
  member("max_single_ns", cpu.max_single_ns, {.help = "longest single noise"});
}

void describe_counts(Members& member, const OsnoiseCpu& cpu, const OsnoisePlan& plan) {
  member("hw", cpu.hw, {.help = "noises without any interference"});
  member("nmi", cpu.nmi, {.help = "NMIs in gaps of any length; likewise the next three"});
  member("irq", cpu.irq);
  const auto softirq = when(plan.counts_softirqs, cpu.softirq);
  member("softirq", or_null(softirq),
         {.help = "null: the kernel's tracer does not see softirqs with PREEMPT_RT"});
  member("thread", cpu.thread);
}

void describe_cpu(Members& member, const OsnoiseCpu& cpu, const OsnoisePlan& plan,
                  const Names& names) {
  member.type("noise_cpu",
              "Periods of a CPU that have ended. The ns of the parts and residual_ns add up to "
              "noise_ns");
  member("cpu", cpu.cpu);
  describe_noise(member, cpu);
  describe_counts(member, cpu, plan);
  member("parts", cpu.tally.parts(plan.by, names), parts_about);
  member("residual_ns", cpu.residual_ns(),
         {.help = "noise in no part: kernel entries and exits, context switches, lost records"});
  member("histogram", when(plan.histogram, cpu.tally.histogram().buckets()),
         {.help = "with --hist: [low_ns, high_ns, count] of each bucket that is not empty; high_ns "
                  "is exclusive, and null in the last bucket, which has all longer noises"});
}

void describe_cpus(Members& member, const std::vector<OsnoiseCpu>& cpus, const OsnoisePlan& plan,
                   const Names& names) {
  member.list("cpus", cpus, [&](const OsnoiseCpu& cpu) { describe_cpu(member, cpu, plan, names); },
              {.below = true});
}

/// A row per CPU.
void add_rows(CsvRows& csv, std::span<const OsnoiseCpu> cpus, const OsnoisePlan& plan,
              std::string_view type, const ReportTime& time) {
  csv.rows<OsnoiseCpu>(cpus, [&](Members& cell, const OsnoiseCpu& cpu) {
    describe_row_time(cell, type, time);
    describe_cpu(cell, cpu, plan, {});
  });
}

TableWidth table_width(const ReportContext& context) {
  const bool narrow = context.columns != 0 && context.columns < osnoise_table_width;
  return narrow ? TableWidth::narrow : TableWidth::full;
}

}  // namespace

void describe(Members& member, const NoisePart& part) {
  const bool is_thread = part.kind == ShareKind::thread && !part.owner;
  const Owner owner = part.owner.value_or(Owner{});
  member.type("noise_part", "Interferences of one kind and name");
  member("kind", noise_kind_name(part.kind),
         {.help = "hardware: nothing that the kernel reports; hardware or a hypervisor",
          .choices = noise_kind_names});
  member(
      "name",
      !part.owner            ? part.name
      : owner.cgroup.empty() ? owner.process
                             : owner.cgroup,
      {.help = "with --by cgroup its path, with --by parent the name of the processes; (kernel): "
               "all threads of the kernel"});
  member("threads", when(part.threads > 0, part.threads), {.help = "with --by name, pattern"});
  describe_common(member, owner, part.processes);
  member("tid", when(is_thread && part.threads == 0, part.number),
         {.help = "thread; 0: the kernel reported no switch to it"});
  member("number", when(part.kind != ShareKind::thread, part.number),
         {.help = "number of the interrupt"});
  member("count", part.count);
  member("ns", part.ns);
  member("max_ns", part.max_ns);
}

void describe(Members& member, const OsnoiseStop& stop) {
  member.type("noise_cause",
              "The noise that stopped the run. The ns of the parts and residual_ns add up to "
              "noise_ns");
  member("cpu", stop.cpu);
  member("time_ns", stop.time_ns);
  member("of", limited(stop),
         {.help = "single: one noise; total: the noise of a period", .choices = stops});
  member("limit_ns", stop.limit_ns);
  member("noise_ns", stop.noise_ns);
  member("parts", stop.parts, parts_about);
  member("residual_ns", stop.residual_ns);
  member("complete", stop.complete, {.help = complete_help});
}

void OsnoiseInterval::members(Members& member, const ReportContext& context) const {
  describe_time(member);
  describe_cpus(member, cpus_, plan_, context.info.names);
}

std::string OsnoiseInterval::text(const ReportContext& context) const {
  return osnoise_table(cpus_, plan_, time().duration, table_width(context));
}

void OsnoiseInterval::rows(CsvRows& csv, const ReportContext&) const {
  add_rows(csv, cpus_, plan_, "interval", time());
}

void OsnoiseReport::members(Members& member, const ReportContext& context) const {
  member.object("osnoise", [&] {
    member("period_ns", plan_.period_ns);
    member("runtime_ns", plan_.runtime_ns, {.help = "of each period"});
    member("threshold_ns", plan_.threshold_ns);
    member("priority", static_cast<std::uint64_t>(plan_.priority),
           {.help = "SCHED_FIFO priority of the threads; 0: ordinary threads"});
  });
  describe_cpus(member, cpus_, plan_, context.info.names);
  member("cause", or_null(stop_), {.help = "null: no limit stopped the run", .below = true});
}

std::string OsnoiseReport::text(const ReportContext& context) const {
  std::string text;
  if (plan_.histogram) text += osnoise_histogram(cpus_, plan_) + "\n";
  text += osnoise_table(cpus_, plan_, context.info.duration, table_width(context));
  if (const std::string parts = osnoise_parts(cpus_, parts_shown, plan_.by, context.info.names);
      !parts.empty())
    text += "\n" + parts;
  if (stop_) text += "\n" + osnoise_stop(*stop_, plan_.by);
  return text;
}

void OsnoiseReport::rows(CsvRows& csv, const ReportContext& context) const {
  add_rows(csv, cpus_, plan_, "total", whole_session(context.info));
  if (stop_)
    csv.remark(fmt::format("cause: cpu={} time_ns={} of={} limit_ns={} noise_ns={}", stop_->cpu,
                           stop_->time_ns, limited(*stop_), stop_->limit_ns, stop_->noise_ns));
}

}  // namespace overdue

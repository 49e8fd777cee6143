#include "report/timerlat/text.h"

#include <set>

#include <fmt/format.h>

#include "analysis/timer_picture.h"
#include "base/text.h"
#include "sinks/text_format.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

/// 93784 s as "1 02:03:04".
std::string days_and_time(Duration duration) {
  const auto seconds = duration.count() / 1'000'000'000;
  return fmt::format("{} {:02}:{:02}:{:02}", seconds / 86400, seconds / 3600 % 24,
                     seconds / 60 % 60, seconds % 60);
}

std::string part_line(std::string_view kind, const std::string& name, std::uint64_t ns,
                      std::uint64_t of_ns) {
  return fmt::format("  {:<10}{:<28}{:>14} ns {:>6}%\n", kind, name, grouped(ns),
                     percent_of(ns, of_ns));
}

std::string part_name(const Share& part) {
  if (!has_name(part.kind)) return {};
  return fmt::format("{}:{}", printable(part.name), part.number);
}

std::string_view context_name(TimerContext context) {
  switch (context) {
    case TimerContext::irq:
      return "IRQ";
    case TimerContext::thread:
      return "thread";
    case TimerContext::user:
      return "user";
  }
  return "";
}

/// One line of --hist below the counts: a figure of each column.
template <typename Figure>
std::string summary_line(std::string_view name, std::span<const TimerCpu> cpus, Figure figure) {
  std::string line = fmt::format("{:<8}", name);
  for (const TimerCpu& cpu : cpus)
    for (const TimerContext context : timer_contexts)
      line += fmt::format(" {:>9}", figure(cpu.of(context)));
  return line + "\n";
}

}  // namespace

std::string microseconds(std::uint64_t ns) {
  return fmt::format("{}.{}", ns / 1000, ns % 1000 / 100);
}

std::string timerlat_header(const SessionInfo& info, const TimerlatPlan& plan) {
  return fmt::format(
      "overdue {} timerlat: CPUs {}, period {}, {}\n{}, Linux {} {}, {}; {}, from "
      "{}\n\n",
      printable(info.version), format_cpu_list(plan.cpus), duration_text(plan.period_ns),
      plan.of_program ? "a program's own threads" : fmt::format("SCHED_FIFO {}", plan.priority),
      printable(info.host), printable(info.kernel), printable(info.arch), counted(info.cpus, "CPU"),
      printable(info.backend), local_date_time(info.start_wall));
}

std::string timerlat_table(std::span<const TimerCpu> cpus, Duration duration, TableWidth width) {
  const bool full = width == TableWidth::full;
  const auto columns = [&](std::string_view current, std::string_view least,
                           std::string_view average, std::string_view most) {
    return full ? fmt::format("{:>8} {:>8} {:>8} {:>8} |", current, least, average, most)
                : fmt::format("{:>8} {:>8} |", current, most);
  };
  std::string text = fmt::format("{:>15} |", days_and_time(duration));
  for (const std::string_view title :
       {full ? "IRQ latency (us)" : "IRQ (us)", full ? "thread latency (us)" : "thread (us)",
        full ? "back in user space (us)" : "user space (us)"})
    text += fmt::format("{:^{}}|", title, full ? 36 : 18);
  text += fmt::format("\n{:<4}{:>11} |", "CPU", "COUNT");
  for (std::size_t i = 0; i < timer_contexts.size(); ++i)
    text += columns("cur", "min", "avg", "max");
  text += '\n';
  for (const TimerCpu& cpu : cpus) {
    text += fmt::format("{:<4}{:>11} |", cpu.cpu, cpu.count);
    for (const TimerContext context : timer_contexts) {
      const TimerFigures& figures = cpu.of(context);
      const Histogram& all = figures.latencies;
      if (all.count() == 0)
        text += columns("-", "-", "-", "-");
      else
        text += columns(microseconds(figures.current_ns), microseconds(all.min_ns()),
                        microseconds(all.mean_ns()), microseconds(all.max_ns()));
    }
    text += '\n';
  }
  return text;
}

std::string timerlat_histogram(std::span<const TimerCpu> cpus, const TimerlatPlan& plan) {
  std::string text = fmt::format("latencies, counted by bucket of {}\n{:<8}",
                                 duration_text(plan.bucket_ns), "from us");
  constexpr std::string_view columns[] = {"IRQ", "thr", "usr"};
  for (const TimerCpu& cpu : cpus)
    for (const std::string_view column : columns)
      text += fmt::format(" {:>9}", fmt::format("{}-{:03}", column, cpu.cpu));
  text += '\n';
  const auto count_in = [](const TimerFigures& figures, std::size_t bucket) {
    return figures.counts ? figures.counts->count_in(bucket) : 0;
  };
  std::set<std::size_t> buckets;
  for (const TimerCpu& cpu : cpus)
    for (const TimerFigures& figures : cpu.figures)
      if (figures.counts)
        for (const auto& [bucket, count] : figures.counts->counts()) buckets.insert(bucket);
  buckets.erase(plan.buckets);
  for (const std::size_t bucket : buckets)
    text += summary_line(fmt::format("{}", bucket * plan.bucket_ns / 1000), cpus,
                         [&](const TimerFigures& figures) { return count_in(figures, bucket); });
  using Figures = const TimerFigures&;
  text += summary_line("over:", cpus, [&](Figures f) { return count_in(f, plan.buckets); });
  text += summary_line("count:", cpus, [](Figures f) { return f.latencies.count(); });
  text += summary_line("min:", cpus, [](Figures f) { return microseconds(f.latencies.min_ns()); });
  text += summary_line("avg:", cpus, [](Figures f) { return microseconds(f.latencies.mean_ns()); });
  text += summary_line("p99:", cpus,
                       [](Figures f) { return microseconds(f.latencies.quantile_ns(0.99)); });
  text += summary_line("max:", cpus, [](Figures f) { return microseconds(f.latencies.max_ns()); });
  return text;
}

std::string timerlat_cause(const TimerStop& stop) {
  const TimerCause& cause = stop.cause;
  const timerlat_activation& activation = cause.activation;
  std::string text = fmt::format(
      "CPU {} stopped the run: activation #{}, {} latency {}, and the limit is {}\n",
      activation.header.cpu, activation.id, context_name(stop.context),
      duration_text(latency_in(activation, stop.context)), duration_text(stop.limit_ns));
  text += fmt::format("{}\n\n", stop.diagnosis.text);
  for (const Share& part : cause.parts.longest_first())
    text += part_line(noise_kind_name(part.kind), part_name(part), part.ns, cause.latency_ns);
  text += part_line("residual", "", cause.parts.unexplained_ns, cause.latency_ns);
  text += part_line("total", fmt::format("IRQ delay {} ns", grouped(cause.irq_delay_ns)),
                    cause.latency_ns, cause.latency_ns);
  if (activation.flags & ACTIVATION_CUT)
    text +=
        fmt::format("  more than {} pieces: the oldest are in the residual\n", TIMERLAT_NOISES_MAX);
  if (activation.steal_ns > 0)
    text += fmt::format("  a hypervisor says it took {} of this CPU since the activation before\n",
                        duration_text(activation.steal_ns));
  text += '\n' + draw_latency(cause);
  if (stop.stack.empty()) return text;
  text +=
      fmt::format("\nwhere {} was when the interrupt came:\n",
                  activation.interrupted_tid == 0 ? "the idle CPU"
                                                  : printable(fixed_text(activation.interrupted)));
  for (const StackFrame& frame : stop.stack) text += fmt::format("  => {}\n", to_text(frame));
  return text;
}

}  // namespace overdue

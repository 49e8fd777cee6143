#include "report/timerlat/figures.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/error.h"
#include "resolve/kernel_stacks.h"
#include "sinks/text_format.h"
#include "target/cpu_list.h"

namespace overdue {

void TimerFigures::add(std::uint64_t ns) {
  current_ns = ns;
  latencies.add(ns);
  if (counts) counts->add(ns);
}

TimerCpu::TimerCpu(std::uint32_t number, const TimerlatPlan& plan) : cpu(number) {
  if (!plan.histogram) return;
  for (TimerFigures& each : figures) each.counts.emplace(plan.bucket_ns, plan.buckets);
}

std::uint64_t latency_in(const timerlat_activation& activation, TimerContext context) {
  const auto since_expiry = [&](std::uint64_t ns) {
    return ns > activation.expires_ns ? ns - activation.expires_ns : 0;
  };
  switch (context) {
    case TimerContext::irq:
      return since_expiry(activation.irq_ns);
    case TimerContext::thread:
      return activation.flags & ACTIVATION_UNSEEN ? 0 : since_expiry(activation.header.time_ns);
    case TimerContext::user:
      return since_expiry(activation.user_ns);
  }
  return 0;
}

std::vector<std::string> notes_of_missed(const std::vector<std::uint32_t>& cpus,
                                         const std::vector<std::uint64_t>& missed) {
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < cpus.size(); ++i)
    if (missed[i] > 0)
      notes.push_back(
          fmt::format("CPU {}: {} period{} passed while the thread was still late from one before",
                      cpus[i], missed[i], missed[i] == 1 ? "" : "s"));
  return notes;
}

std::string why_none(const timerlat_cpu& at_end) {
  switch (at_end.absence) {
    case TIMERLAT_NOT_RUN:
      return "its thread did not get to run (what has that CPU: ps -eLo cls,rtprio,psr,pcpu,comm)";
    case TIMERLAT_NO_HOOKS:
      return fmt::format(
          "its thread woke {}, so Overdue's hooks do not run there, or its timers expire on other "
          "CPUs (nohz_full: sysctl kernel.timer_migration=0)",
          counted(at_end.wakings, "time"));
    case TIMERLAT_NO_READER:
      return fmt::format("no thread has read osnoise/per_cpu/cpu{}/timerlat_fd", at_end.header.cpu);
    case TIMERLAT_NOT_WRITTEN:
      return "the kernel's tracer wrote none";
    default:
      return "the recording does not say why";
  }
}

timerlat_cpu cpu_at_end(std::uint32_t cpu, std::uint64_t missed, timerlat_absence absence) {
  timerlat_cpu record{};
  record.header.time_ns = KernelClock::now_ns();
  record.header.kind = RECORD_TIMERLAT_CPU;
  record.header.size = sizeof record;
  record.header.cpu = cpu;
  record.missed = missed;
  record.absence = absence;
  return record;
}

void check(const TimerlatPlan& plan) {
  if (plan.period_ns < 100'000 || plan.period_ns > 1'000'000'000)
    throw Error("bad period {}: not between 100us and 1s", duration_text(plan.period_ns))
        .hint("a period of 1000us is the default")
        .exit_status(2);
  if (plan.priority < 1 || plan.priority > 99)
    throw Error("bad priority {}: not between 1 and 99", plan.priority)
        .hint("a priority of 95 is the default")
        .exit_status(2);
}

KeptOptions kept_options(const TimerlatPlan& plan) {
  return {{"cpus", format_cpu_list(plan.cpus)},
          {"period_ns", std::to_string(plan.period_ns)},
          {"priority", std::to_string(plan.priority)},
          {"stop_irq_ns", std::to_string(plan.stop_irq_ns)},
          {"stop_total_ns", std::to_string(plan.stop_total_ns)},
          {"user", std::to_string(plan.user)},
          {"of_program", std::to_string(plan.of_program)},
          {"bucket_ns", std::to_string(plan.bucket_ns)},
          {"buckets", std::to_string(plan.buckets)}};
}

TimerlatPlan kept_timerlat_plan(const SessionInfo& info) {
  TimerlatPlan plan;
  plan.cpus = kept_cpus(info.options, "cpus");
  plan.period_ns = kept_number(info.options, "period_ns", plan.period_ns);
  plan.priority = static_cast<int>(
      kept_number(info.options, "priority", static_cast<std::uint64_t>(plan.priority), 99));
  plan.stop_irq_ns = kept_number(info.options, "stop_irq_ns", 0);
  plan.stop_total_ns = kept_number(info.options, "stop_total_ns", 0);
  plan.user = kept_number(info.options, "user", 0) != 0;
  plan.of_program = kept_number(info.options, "of_program", 0) != 0;
  plan.bucket_ns = std::max<std::uint64_t>(1, kept_number(info.options, "bucket_ns", 1000));
  plan.buckets = std::max<std::uint64_t>(1, kept_number(info.options, "buckets", 256, 100'000));
  return plan;
}

TimerStop explain_stop(const Record& record, const TimerlatPlan& plan, StackNamer& stacks,
                       const std::vector<TimerCpu>& cpus) {
  TimerStop stop;
  std::vector<CpuSilences> silences;
  for (const TimerCpu& each : cpus) {
    const timerlat_silence* const first = each.at_end.silence;
    const std::size_t kept = std::min<std::size_t>(each.at_end.silences, SILENCES_KEPT);
    silences.push_back({each.cpu, {first, first + kept}});
  }
  const auto activation = record.as<timerlat_activation>();
  stop.limit_ns = plan.stop_total_ns;
  if (activation.flags & ACTIVATION_IN_IRQ) {
    stop.context = TimerContext::irq;
    stop.limit_ns = plan.stop_irq_ns;
  } else if (latency_in(activation, TimerContext::thread) < plan.stop_total_ns) {
    stop.context = TimerContext::user;
  }
  const bool to_user = activation.user_ns > 0 &&
                       (stop.context == TimerContext::user || activation.flags & ACTIVATION_UNSEEN);
  stop.cause = take_apart(record, to_user ? LatencyEnd::user : LatencyEnd::thread,
                          find_machine_stop(activation, silences));
  stop.stack = untraced_stack(stacks, stop.cause.addresses);
  std::vector<std::string> functions;
  for (const StackFrame& frame : stop.stack) functions.push_back(frame.name);
  const bool has_priority = activation.flags & ACTIVATION_HAS_PRIORITY;
  stop.diagnosis =
      diagnose(stop.cause, functions, has_priority ? activation.thread_priority : plan.priority);
  return stop;
}

}  // namespace overdue

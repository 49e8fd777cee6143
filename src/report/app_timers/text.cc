#include "report/app_timers/text.h"

#include <fmt/format.h>

#include "analysis/throttle_words.h"
#include "base/text.h"
#include "report/timerlat/text.h"
#include "sinks/finding_words.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

std::string name_and_tid(const std::string& comm, std::uint32_t tid) {
  return fmt::format("{}[{}]", printable(comm), tid);
}

std::string part_text(const Share& part, const LateTimer& late) {
  const app_timer& timer = late.timer;
  if (part.kind == ShareKind::slack) return "the kernel may be this late (timer slack)";
  if (part.kind == ShareKind::irq_delay) {
    const std::string there =
        timer.interrupted_tid == 0
            ? ", which was idle"
            : fmt::format(", where {} ran", name_and_tid(std::string(fixed_text(timer.interrupted)),
                                                         timer.interrupted_tid));
    return fmt::format("until the interrupt came on CPU {}{}", timer.timer_cpu, there);
  }
  if (part.kind == ShareKind::handler) return "in the interrupt, until it woke the thread";
  if (part.kind == ShareKind::runqueue) {
    CpuShares ran;
    ran.add({0, part.number, part.name}, part.ran_ns);
    const std::string text = shares_text("behind", ran, part.ns);
    return text.empty() ? "until it ran" : text;
  }
  if (part.kind == ShareKind::throttled)
    return late.throttle ? throttle_text(late.throttle)
                         : "by the CPU quota of its cgroup, or the limit of real-time threads";
  return timer.flags & APP_TIMER_KEPT ? "until it ran again" : "until its system call had ended";
}

}  // namespace

std::string_view part_word(ShareKind kind) {
  switch (kind) {
    case ShareKind::slack:
      return "slack";
    case ShareKind::irq_delay:
      return "irq";
    case ShareKind::handler:
      return "handler";
    case ShareKind::runqueue:
      return "run queue";
    case ShareKind::throttled:
      return "throttled";
    default:
      return "return";
  }
}

std::string app_timers_table(std::span<const AppTimerRow> rows) {
  constexpr std::string_view titles[] = {"IRQ latency (us)", "thread latency (us)",
                                         "back in user space (us)"};
  std::string text = fmt::format("{:<22} {:<26} {:>9} |", "", "", "");
  for (const std::string_view title : titles) text += fmt::format("{:^36}|", title);
  text += fmt::format("\n{:<22} {:<26} {:>9} |", "THREAD", "TIMER", "COUNT");
  for (std::size_t i = 0; i < std::size(titles); ++i)
    text += fmt::format("{:>8} {:>8} {:>8} {:>8} |", "min", "avg", "p99", "max");
  text += '\n';
  for (const AppTimerRow& row : rows) {
    text += fmt::format("{:<22} {:<26} {:>9} |", name_and_tid(row.comm, row.tid), row.timer,
                        row.latencies[0].count());
    for (const Histogram& all : row.latencies)
      text += fmt::format("{:>8} {:>8} {:>8} {:>8} |", microseconds(all.min_ns()),
                          microseconds(all.mean_ns()), microseconds(all.quantile_ns(0.99)),
                          microseconds(all.max_ns()));
    text += '\n';
  }
  return text;
}

std::string late_timer_text(const LateTimer& late, const SessionInfo& info) {
  const app_timer& timer = late.timer;
  const KernelTime end{Duration(timer.header.time_ns)};
  std::string text = fmt::format(
      "{}  {}  {} was {} late on CPU {}\n", local_time_of_day(info.wall(end)), late.name,
      name_and_tid(std::string(fixed_text(timer.header.comm)), timer.header.tid),
      duration_text(late.latency_ns), timer.header.cpu);
  for (const Share& part : late.parts.shares())
    text += fmt::format("  {:<11} {:>8}  {}\n", part_word(part.kind), duration_text(part.ns),
                        part_text(part, late));
  if (late.stack.empty()) return text;
  text += "  where that CPU was when the interrupt came:\n";
  for (const StackFrame& frame : late.stack) text += fmt::format("    => {}\n", to_text(frame));
  return text;
}

}  // namespace overdue

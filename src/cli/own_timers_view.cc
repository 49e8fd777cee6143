#include "cli/own_timers_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/kernel_stacks.h"
#include "cli/own_timers_json.h"
#include "cli/report_envelope.h"
#include "cli/report_output.h"
#include "cli/timerlat_text.h"
#include "sinks/finding_words.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t rows_shown = 40;
constexpr std::size_t explained = 3;

std::string name_and_tid(const std::string& comm, std::uint32_t tid) {
  return fmt::format("{}[{}]", printable(comm), tid);
}

std::string part_text(const LatenessPart& part, const LateTimer& late) {
  const own_timer& timer = late.timer;
  if (part.kind == "slack") return "the kernel may be this late (timer slack)";
  if (part.kind == "irq") {
    const std::string there =
        timer.interrupted_tid == 0
            ? ", which was idle"
            : fmt::format(", where {} ran", name_and_tid(std::string(fixed_text(timer.interrupted)),
                                                         timer.interrupted_tid));
    return fmt::format("until the interrupt came on CPU {}{}", timer.timer_cpu, there);
  }
  if (part.kind == "handler") return "in the interrupt, until it woke the thread";
  if (part.kind == "run queue") {
    CpuShares ran;
    ran.add({0, part.tid, part.who}, part.ran_ns);
    const std::string text = shares_text("behind", ran, part.ns);
    return text.empty() ? "until it ran" : text;
  }
  if (part.kind == "throttled")
    return late.throttle ? throttle_text(late.throttle)
                         : "by the CPU quota of its cgroup, or the limit of real-time threads";
  return timer.flags & OWN_TIMER_KEPT ? "until it ran again" : "until its system call had ended";
}

}  // namespace

std::string own_timers_table(const std::vector<const OwnTimerRow*>& rows, std::size_t most) {
  constexpr std::string_view titles[] = {"IRQ latency (us)", "thread latency (us)",
                                         "back in user space (us)"};
  std::string text = fmt::format("{:<22} {:<26} {:>9} |", "", "", "");
  for (const std::string_view title : titles) text += fmt::format("{:^36}|", title);
  text += fmt::format("\n{:<22} {:<26} {:>9} |", "THREAD", "TIMER", "COUNT");
  for (std::size_t i = 0; i < std::size(titles); ++i)
    text += fmt::format("{:>8} {:>8} {:>8} {:>8} |", "min", "avg", "p99", "max");
  text += '\n';
  for (const OwnTimerRow* row : rows) {
    if (most-- == 0) break;
    text += fmt::format("{:<22} {:<26} {:>9} |", name_and_tid(row->comm, row->tid), row->timer,
                        row->latencies[0].count());
    for (const Histogram& all : row->latencies)
      text += fmt::format("{:>8} {:>8} {:>8} {:>8} |", microseconds(all.min_ns()),
                          microseconds(all.mean_ns()), microseconds(all.quantile_ns(0.99)),
                          microseconds(all.max_ns()));
    text += '\n';
  }
  return text;
}

std::string late_timer_text(const LateTimer& late, const SessionInfo& info, StackNamer& stacks) {
  const own_timer& timer = late.timer;
  const KernelTime end{Duration(timer.header.time_ns)};
  std::string text = fmt::format(
      "{}  {}  {} was {} late on CPU {}\n", local_time_of_day(info.wall(end)), late.name,
      name_and_tid(std::string(fixed_text(timer.header.comm)), timer.header.tid),
      duration_text(late.latency_ns), timer.header.cpu);
  for (const LatenessPart& part : late.parts)
    text += fmt::format("  {:<11} {:>8}  {}\n", part.kind, duration_text(part.ns),
                        part_text(part, late));
  const Stack stack = untraced_stack(stacks, late.addresses);
  if (stack.empty()) return text;
  text += "  where that CPU was when the interrupt came:\n";
  for (const StackFrame& frame : stack) text += fmt::format("    => {}\n", to_text(frame));
  return text;
}

KeptOptions kept_options(const OwnTimersPlan& plan) {
  return {{"stop_irq_ns", std::to_string(plan.stop_irq_ns)},
          {"stop_total_ns", std::to_string(plan.stop_total_ns)},
          {"user", std::to_string(plan.user)}};
}

OwnTimersPlan kept_own_timers_plan(const SessionInfo& info) {
  return {.stop_irq_ns = kept_number(info.options, "stop_irq_ns", 0),
          .stop_total_ns = kept_number(info.options, "stop_total_ns", 0),
          .user = kept_number(info.options, "user", 0) != 0};
}

OwnTimersView::OwnTimersView(const OwnTimersPlan& plan, const OutputOptions& output,
                             StackNamer& stacks)
    : plan_(plan), options_(output), stacks_(stacks) {}

void OwnTimersView::begin(const SessionInfo& info) {
  info_ = info;
  output_ = open_output(options_, plan_.spawned);
  if (options_.format != "ndjson") return;
  lines_ = std::make_unique<NdjsonSink>(*output_);
  lines_->begin(info);
}

void OwnTimersView::record(const Record& record) {
  if (record.schema->id == RECORD_SCHED_THROTTLE) return table_.add_throttle(record);
  if (record.schema->id != RECORD_OWN_TIMER) return;
  const LateTimer late = table_.add(record, info_.names);
  if (plan_.trace && lines_) lines_->record(record);
  if (stop_) return;
  const auto over = [&](TimerContext context, std::uint64_t limit_ns) {
    return limit_ns > 0 && latency_in(late.timer, context) >= limit_ns;
  };
  if (over(TimerContext::irq, plan_.stop_irq_ns) ||
      over(plan_.user ? TimerContext::user : TimerContext::thread, plan_.stop_total_ns))
    stop_ = late;
}

void OwnTimersView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{}) return;
  if (lines_) {
    JsonWriter json(*output_, JsonWriter::Style::one_line);
    json.begin_object();
    json.member("type", "interval");
    json.member("end", format_rfc3339(info.wall(info.start + info.duration)));
    write_own_timers(json, table_.rows(), stacks_);
    json.end_object();
    output_->append('\n');
  } else if (options_.format == "text") {
    output_->append(
        fmt::format("{}, after {}\n{}\n", local_time_of_day(info.wall(info.start + info.duration)),
                    format_duration(info.duration), own_timers_table(table_.rows(), rows_shown)));
  }
  output_->flush();
}

void OwnTimersView::end_text(const SessionInfo& info, const Receipt& receipt) {
  const std::vector<const OwnTimerRow*> rows = table_.rows();
  output_->append(session_header(info, true));
  if (!rows.empty()) output_->append(own_timers_table(rows, rows_shown) + "\n");
  if (rows.size() > rows_shown)
    output_->append(fmt::format("and {} more; -f json has them all\n\n", rows.size() - rows_shown));
  if (stop_) output_->append("stopped by\n" + late_timer_text(*stop_, info, stacks_) + "\n");
  for (std::size_t i = 0; !stop_ && i < std::min(explained, rows.size()); ++i)
    output_->append(late_timer_text(rows[i]->latest, info, stacks_) + "\n");
  if (rows.empty()) output_->append("no thread of the target was woken by a timer\n\n");
  for (const std::string& line : receipt_lines(info, receipt)) output_->append(line + "\n");
}

void OwnTimersView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo shown = info;
  if (options_.quiet) shown.notes.clear();
  const auto members = [&](JsonWriter& json) {
    write_own_timers(json, table_.rows(), stacks_);
    write_timer_stop(json, stop_ ? &*stop_ : nullptr, stacks_);
  };
  if (lines_)
    write_last_lines(*output_, info, receipt, members);
  else if (options_.format == "json")
    write_json_report(*output_, info, receipt, members);
  else
    end_text(shown, receipt);
  output_->close();
}

}  // namespace overdue

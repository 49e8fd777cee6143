#include "report/app_timers/sections.h"

#include <algorithm>
#include <array>
#include <span>

#include <fmt/format.h>

#include "base/text.h"
#include "base/time.h"
#include "core/finding_members.h"
#include "report/app_timers/text.h"
#include "report/timerlat/sections.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t timers_shown = 40;
constexpr std::size_t explained = 3;
constexpr std::array<std::string_view, 6> part_kinds{"slack",     "irq",       "handler",
                                                     "run queue", "throttled", "return"};
constexpr std::array<ShareKind, 6> parts_in_time{ShareKind::slack,     ShareKind::irq_delay,
                                                 ShareKind::handler,   ShareKind::runqueue,
                                                 ShareKind::throttled, ShareKind::way_back};

std::string table_of(std::span<const AppTimerRow> rows) {
  return app_timers_table(rows.first(std::min(rows.size(), timers_shown)));
}

void describe_interrupted(Members& member, const app_timer& timer) {
  member("cpu", timer.timer_cpu);
  member("tid", timer.interrupted_tid);
  member("comm", fixed_text(timer.interrupted));
}

void describe_row(Members& member, const AppTimerRow& row) {
  member("pid", row.pid);
  member("tid", row.tid);
  member("comm", row.comm);
  member("timer", row.timer, {.help = "as \"timer\" of \"latest\""});
  for (const TimerContext context : timer_contexts)
    member.object(key_of(context),
                  [&] { describe_timer_latencies(member, row.latencies[index_of(context)]); });
}

void describe_timers(Members& member, const std::vector<AppTimerRow>& rows) {
  member("timers", rows, {.help = "by thread and kind of timer, latest first", .below = true});
}

/// Cells of a wake-up: all kinds of parts, so that all rows have the same columns.
void describe_late_cells(Members& cell, const LateTimer& late) {
  cell("time_ns", late.timer.header.time_ns);
  cell("cpu", late.timer.header.cpu);
  cell("expires_ns", late.timer.expires_ns);
  cell("latency_ns", late.latency_ns);
  for (const ShareKind kind : parts_in_time) {
    const std::string name =
        kind == ShareKind::runqueue ? "run_queue" : std::string(part_word(kind));
    cell(name + "_ns", late.parts.ns(kind));
  }
}

/// A row for each thread and kind of timer.
void add_rows(CsvRows& csv, const std::vector<AppTimerRow>& rows, std::string_view type,
              const ReportTime& time) {
  csv.rows<AppTimerRow>(rows, [&](Members& cell, const AppTimerRow& row) {
    describe_row_time(cell, type, time);
    describe_row(cell, row);
    cell.object("latest", [&] { describe_late_cells(cell, row.latest); });
  });
}

void describe_late_part(Members& member, const Share& part) {
  const bool has_thread = part.number != 0;
  member("kind", part_word(part.kind), {.choices = part_kinds});
  member("ns", part.ns);
  member("name", when(has_thread, part.name), {.help = "of the thread that had the CPU"});
  member("tid", when(has_thread, part.number), {.help = "of this thread"});
  member("ran_ns", when(has_thread, part.ran_ns),
         {.help = "part of ns in which this thread had the CPU"});
}

}  // namespace

void describe(Members& member, const LateTimer& late) {
  const app_timer& timer = late.timer;
  member.type("late_timer", "One wake-up by a timer: the ns of the parts add up to latency_ns");
  member("timer", late.name,
         {.help = "the system call that waited, and the kind of the timer if it is not the call's "
                  "own"});
  member("time_ns", timer.header.time_ns, {.help = "end of the system call"});
  member("tid", timer.header.tid);
  member("cpu", timer.header.cpu, {.help = "CPU of the thread at time_ns"});
  member("expires_ns", timer.expires_ns, {.help = "requested expiry, as time_ns"});
  member("latency_ns", late.latency_ns, {.help = "from expires_ns to time_ns"});
  member("irq_delay_ns", latency_in(timer, TimerContext::irq),
         {.help = "part of latency_ns until the timer's interrupt"});
  member.list("parts", late.parts.shares(),
              [&](const Share& part) { describe_late_part(member, part); },
              {.help = "in order of time"});
  member("throttled_by", late.throttle, {.help = "the limit that throttled the thread"});
  member.object(
      "interrupted", [&] { describe_interrupted(member, timer); },
      {.help = "the CPU of the interrupt, and the thread that ran there; tid 0: the CPU was idle"});
  member("stack", late.stack,
         {.help = "with --stack: kernel stack of this CPU when the interrupt came"});
}

void describe(Members& member, const AppTimerRow& row) {
  member.type("app_timer", "Wake-ups of one thread by timers of one kind");
  describe_row(member, row);
  member("latest", row.latest, {.help = "the wake-up with the longest latency"});
}

void AppTimersInterval::members(Members& member, const ReportContext&) const {
  describe_time(member);
  describe_timers(member, rows_);
}

std::string AppTimersInterval::text(const ReportContext&) const {
  return fmt::format("{}, after {}\n{}", local_time_of_day(time().end),
                     format_duration(time().duration), table_of(rows_));
}

void AppTimersInterval::rows(CsvRows& csv, const ReportContext&) const {
  add_rows(csv, rows_, "interval", time());
}

void AppTimersReport::members(Members& member, const ReportContext&) const {
  describe_timers(member, rows_);
  member("cause", or_null(stop_), {.help = "the wake-up that ended the run; null: none did"});
}

std::string AppTimersReport::text(const ReportContext& context) const {
  if (rows_.empty()) return "no thread of the target was woken by a timer\n";
  std::string text = table_of(rows_);
  if (rows_.size() > timers_shown)
    text += fmt::format("\nand {} more; -f json has them all\n", rows_.size() - timers_shown);
  if (stop_) return text + "\nstopped by\n" + late_timer_text(*stop_, context.info);
  for (std::size_t i = 0; i < std::min(explained, rows_.size()); ++i)
    text += '\n' + late_timer_text(rows_[i].latest, context.info);
  return text;
}

void AppTimersReport::rows(CsvRows& csv, const ReportContext& context) const {
  add_rows(csv, rows_, "total", whole_session(context.info));
  if (stop_)
    csv.remark(fmt::format("cause: timer={} tid={} time_ns={} latency_ns={} irq_delay_ns={}",
                           printable(stop_->name), stop_->timer.header.tid,
                           stop_->timer.header.time_ns, stop_->latency_ns,
                           latency_in(stop_->timer, TimerContext::irq)));
}

}  // namespace overdue

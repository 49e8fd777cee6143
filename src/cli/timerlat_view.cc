#include "cli/timerlat_view.h"

#include <unistd.h>

#include <algorithm>

#include <fmt/format.h>

#include "cli/report_envelope.h"
#include "cli/timerlat_json.h"
#include "cli/timerlat_text.h"
#include "probes/timerlat/probe.h"
#include "sinks/text_format.h"
#include "target/output_file.h"

namespace overdue {
namespace {

/// Age of the lines that are written: a record comes when its thread sleeps again, and records of
/// other CPUs may come later still.
constexpr std::uint64_t out_of_order_ns = 200'000'000;

bool was_seen(const timerlat_activation& activation, TimerContext context) {
  switch (context) {
    case TimerContext::irq:
      return true;
    case TimerContext::thread:
      return !(activation.flags & ACTIVATION_UNSEEN);
    case TimerContext::user:
      return activation.user_ns > 0;
  }
  return false;
}

}  // namespace

TimerlatView::TimerlatView(const TimerlatPlan& plan, const OutputOptions& output, bool live,
                           StackNamer& stacks)
    : plan_(plan), options_(output), is_live_(live), stacks_(stacks), trace_(plan) {
  for (const std::uint32_t cpu : plan.cpus) cpus_.push_back(TimerCpu{.cpu = cpu, .figures = {}});
}

void TimerlatView::begin(const SessionInfo& info) {
  const bool to_file = !options_.file.empty() && options_.file != "-";
  output_ = to_file ? std::make_unique<Output>(create_output_file(options_.file))
                    : std::make_unique<Output>(STDOUT_FILENO);
  if (is_live_) live_.emplace(*output_);
  if (options_.format == "ndjson") {
    lines_ = std::make_unique<NdjsonSink>(*output_);
    lines_->begin(info);
  }
  if (!is_text()) return;
  output_->append(plan_.trace ? TimerlatTrace::header() : timerlat_header(info, plan_));
  output_->flush();
}

void TimerlatView::record(const Record& record) {
  const std::uint32_t number = record.header().cpu;
  const auto cpu = std::find_if(cpus_.begin(), cpus_.end(),
                                [&](const TimerCpu& each) { return each.cpu == number; });
  if (cpu == cpus_.end()) return;
  if (record.schema->id == RECORD_TIMERLAT)
    add(record, *cpu);
  else if (record.schema->id == RECORD_TIMERLAT_CPU)
    cpu->at_end = record.as<timerlat_cpu>();
}

void TimerlatView::add(const Record& record, TimerCpu& cpu) {
  const auto activation = record.as<timerlat_activation>();
  ++cpu.count;
  for (const TimerContext context : timer_contexts)
    if (was_seen(activation, context))
      cpu.figures[index_of(context)].add(latency_in(activation, context), plan_);
  newest_ns_ = std::max<std::uint64_t>({newest_ns_, activation.user_ns, activation.header.time_ns});
  if (plan_.trace && is_text()) trace_.add(record, stacks_);
  if (plan_.trace && lines_) lines_->record(record);
  if (activation.flags & ACTIVATION_STOPPED)
    stopped_.assign(record.bytes.begin(), record.bytes.end());
}

std::string TimerlatView::table(const SessionInfo& info) const {
  const bool narrow = live_ && screen_size(output_->fd()).columns < timerlat_table_width;
  return timerlat_table(cpus_, info, narrow ? TableWidth::narrow : TableWidth::full);
}

void TimerlatView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{} || plan_.trace) return;
  if (is_text()) {
    if (live_)
      live_->draw(table(info));
    else
      output_->append(table(info) + "\n");
    shown_ = info.duration;
  } else if (lines_) {
    JsonWriter json(*output_, JsonWriter::Style::one_line);
    json.begin_object();
    json.member("type", "interval");
    json.member("start", format_rfc3339(info.wall(info.start + shown_)));
    shown_ = info.duration;
    json.member("end", format_rfc3339(info.wall(info.start + shown_)));
    write_timer_cpus(json, plan_, cpus_);
    json.end_object();
    output_->append('\n');
  }
  output_->flush();
}

void TimerlatView::tick() {
  if (plan_.trace && is_text() && newest_ns_ > out_of_order_ns)
    output_->append(trace_.take(newest_ns_ - out_of_order_ns));
  if (plan_.trace) output_->flush();
}

void TimerlatView::end_text(const SessionInfo& info, const Receipt& receipt) {
  if (plan_.trace) {
    output_->append(trace_.take(UINT64_MAX));
    output_->append('\n');
  }
  if (plan_.histogram)
    output_->append(timerlat_histogram(cpus_, plan_) + "\n");
  else if (live_)
    live_->draw(table(info) + "\n", true);
  else if (shown_ != info.duration)
    output_->append(table(info) + "\n");
  if (stop_) output_->append(timerlat_cause(*stop_) + "\n");
  for (const std::string& line : receipt_lines(info, receipt)) output_->append(line + "\n");
}

void TimerlatView::end(const SessionInfo& info, const Receipt& receipt) {
  // Explained only now: other CPUs may have been stopped for longer.
  if (!stopped_.empty())
    stop_ = explain_stop({&timerlat_activation_schema, stopped_}, plan_, stacks_, cpus_);
  SessionInfo shown = info;
  for (const TimerCpu& cpu : cpus_)
    if (cpu.count + cpu.at_end.missed == 0 && info.duration > 100 * Duration(plan_.period_ns))
      shown.notes.push_back(
          fmt::format("CPU {}: no activation was seen; {}", cpu.cpu, why_none(cpu.at_end)));
  if (is_text()) {
    if (options_.quiet) shown.notes.clear();
    end_text(shown, receipt);
  } else {
    const auto members = [&](JsonWriter& json) {
      write_timerlat(json, plan_, cpus_, stop_ ? &*stop_ : nullptr);
    };
    (lines_ ? write_last_lines : write_json_report)(*output_, shown, receipt, members);
  }
  output_->close();
}

}  // namespace overdue

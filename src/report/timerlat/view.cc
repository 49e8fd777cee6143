#include "report/timerlat/view.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "probes/timerlat/probe.h"
#include "report/timerlat/sections.h"
#include "report/timerlat/text.h"

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
  for (const std::uint32_t cpu : plan.cpus) cpus_.emplace_back(cpu, plan);
}

void TimerlatView::begin(const SessionInfo& info) {
  report_ = open_report(options_, false, false, is_live_);
  report_.sink->begin(info);
  show(plan_.trace ? TimerlatTrace::header() : timerlat_header(info, plan_));
}

void TimerlatView::show(std::string text) {
  if (!text.empty()) report_.sink->section(std::make_shared<TextSection>(std::move(text)));
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
      cpu.figures[index_of(context)].add(latency_in(activation, context));
  newest_ns_ = std::max<std::uint64_t>({newest_ns_, activation.user_ns, activation.header.time_ns});
  if (plan_.trace && is_text())
    trace_.add(record, stacks_);
  else if (plan_.trace)
    report_.sink->record(record);
  if (activation.flags & ACTIVATION_STOPPED)
    stopped_.assign(record.bytes.begin(), record.bytes.end());
}

void TimerlatView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{} || plan_.trace) return;
  report_.sink->section(std::make_shared<TimerlatInterval>(cpus_, info, shown_));
  shown_ = info.duration;
}

void TimerlatView::tick() {
  if (!plan_.trace) return;
  if (newest_ns_ > out_of_order_ns) show(trace_.take(newest_ns_ - out_of_order_ns));
  report_.output->flush();
}

void TimerlatView::end(const SessionInfo& info, const Receipt& receipt) {
  // Explained only now: other CPUs may have been stopped for longer.
  std::optional<TimerStop> stop;
  if (!stopped_.empty())
    stop = explain_stop({&timerlat_activation_schema, stopped_}, plan_, stacks_, cpus_);
  SessionInfo shown = info;
  for (const TimerCpu& cpu : cpus_)
    if (cpu.count + cpu.at_end.missed == 0 && info.duration > 100 * Duration(plan_.period_ns))
      shown.notes.push_back(
          fmt::format("CPU {}: no activation was seen; {}", cpu.cpu, why_none(cpu.at_end)));
  if (is_text() && options_.quiet) shown.notes.clear();
  show(trace_.take(UINT64_MAX));
  report_.sink->section(
      std::make_shared<TimerlatReport>(plan_, std::move(cpus_), shown_ == info.duration));
  report_.sink->section(std::make_shared<TimerlatCause>(std::move(stop)));
  report_.sink->end(shown, receipt);
  report_.output->close();
}

}  // namespace overdue

#include "report/app_timers/view.h"

#include <memory>
#include <utility>

#include "report/app_timers/sections.h"

namespace overdue {

KeptOptions kept_options(const AppTimersPlan& plan) {
  return {{"stop_irq_ns", std::to_string(plan.stop_irq_ns)},
          {"stop_total_ns", std::to_string(plan.stop_total_ns)},
          {"user", std::to_string(plan.user)}};
}

AppTimersPlan kept_app_timers_plan(const SessionInfo& info) {
  return {.stop_irq_ns = kept_number(info.options, "stop_irq_ns", 0),
          .stop_total_ns = kept_number(info.options, "stop_total_ns", 0),
          .user = kept_number(info.options, "user", 0) != 0};
}

AppTimersView::AppTimersView(const AppTimersPlan& plan, const OutputOptions& output,
                             StackNamer& stacks)
    : plan_(plan), options_(output), table_(stacks) {}

void AppTimersView::begin(const SessionInfo& info) {
  info_ = info;
  report_ = open_report(options_, plan_.spawned, false);
  report_.sink->begin(info);
}

void AppTimersView::record(const Record& record) {
  if (record.schema->id == RECORD_SCHED_THROTTLE) return table_.add_throttle(record);
  if (record.schema->id != RECORD_APP_TIMER) return;
  LateTimer late = table_.add(record, info_.names);
  if (plan_.trace) report_.sink->record(record);
  if (stop_) return;
  const auto over = [&](TimerContext context, std::uint64_t limit_ns) {
    return limit_ns > 0 && latency_in(late.timer, context) >= limit_ns;
  };
  if (!over(TimerContext::irq, plan_.stop_irq_ns) &&
      !over(plan_.user ? TimerContext::user : TimerContext::thread, plan_.stop_total_ns))
    return;
  table_.name_stack(late);
  stop_ = std::move(late);
}

void AppTimersView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{}) return;
  report_.sink->section(std::make_shared<AppTimersInterval>(table_.rows(), info, shown_));
  shown_ = info.duration;
}

void AppTimersView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo shown = info;
  if (options_.quiet && options_.format == "text") shown.notes.clear();
  report_.sink->section(std::make_shared<AppTimersReport>(table_.rows(), std::move(stop_)));
  report_.sink->end(shown, receipt);
  report_.output->close();
}

}  // namespace overdue

#include "report/worst/view.h"

#include <algorithm>

#include "analysis/latency_header.h"
#include "bpf/worst.h"
#include "report/tracer_text.h"
#include "sinks/window_sections.h"

namespace overdue {

KeptOptions kept_options(const WorstPlan& plan) {
  return {{"keep", std::to_string(plan.keep)},
          {"preemption", plan.preemption.model},
          {"resched_bit", std::to_string(plan.preemption.resched_bit)},
          {"has_lazy", std::to_string(plan.preemption.has_lazy)}};
}

WorstPlan kept_worst_plan(const SessionInfo& info) {
  WorstPlan plan;
  plan.keep = kept_number(info.options, "keep", plan.keep, worst_kept_at_most);
  if (const auto model = info.options.find("preemption"); model != info.options.end())
    plan.preemption.model = model->second;
  plan.preemption.resched_bit = static_cast<unsigned>(
      kept_number(info.options, "resched_bit", plan.preemption.resched_bit, 30));
  plan.preemption.has_lazy = kept_number(info.options, "has_lazy", 0) != 0;
  return plan;
}

WorstView::WorstView(const WorstPlan& plan, OutputOptions output, bool spawned, StackNamer& stacks,
                     std::function<void(std::uint64_t)> raise_bar)
    : plan_(plan),
      output_(std::move(output)),
      spawned_(spawned),
      raise_bar_(std::move(raise_bar)),
      assembler_(stacks, plan.preemption,
                 [this](LatencyWindow window) { found(std::move(window)); }) {}

void WorstView::begin(const SessionInfo& info) {
  report_ = open_report(output_, spawned_, is_stream());
  report_.sink->begin(info);
  report_.output->flush();
}

void WorstView::record(const Record& record) {
  if (record.schema->id == RECORD_TRACER_TEXT)
    append_tracer_text(record, tracer_text_);
  else
    assembler_.record(record);
}

void WorstView::found(LatencyWindow window) {
  longest_ns_ = std::max(longest_ns_, window.latency_ns);
  if (is_stream()) {
    count_frames(window, frames_);
    report_.sink->section(std::make_shared<WindowSection>(std::move(window)));
    return;
  }
  const auto place = std::upper_bound(
      windows_.begin(), windows_.end(), window.latency_ns,
      [](std::uint64_t ns, const LatencyWindow& other) { return ns > other.latency_ns; });
  windows_.insert(place, std::move(window));
  if (windows_.size() > plan_.keep) windows_.pop_back();
  if (raise_bar_ && windows_.size() == plan_.keep) raise_bar_(windows_.back().latency_ns);
}

void WorstView::end(const SessionInfo& info, const Receipt& counted) {
  Receipt receipt = counted;
  const bool by_kernel = !tracer_text_.empty();
  if (by_kernel)
    if (auto longest = parse_latency_trace(tracer_text_)) windows_.push_back(std::move(*longest));
  if (!is_stream()) {
    for (const LatencyWindow& window : windows_) count_frames(window, frames_);
    report_.sink->section(std::make_shared<WorstSection>(std::move(windows_)));
  }
  if (!by_kernel) receipt.frames = frames_;
  report_.sink->end(info, receipt);
  report_.output->close();
}

}  // namespace overdue

#include "report/hwlat/view.h"

#include <memory>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/text.h"
#include "bpf/worst.h"
#include "report/tracer_text.h"
#include "sinks/text_format.h"

namespace overdue {

void check(const HwlatPlan& plan) {
  if (plan.threshold < std::chrono::microseconds(1))
    throw Error("a threshold below 1us would take every look at the clock for a latency")
        .hint("a threshold of 10us is the default")
        .exit_status(2);
  // Real-time threads that never sleep hang their CPU.
  if (plan.width == Duration{} || plan.width > plan.window / 100 * 95)
    throw Error("the width must be at most 95 % of the window")
        .hint("a width of 500ms in a window of 1s is the default")
        .exit_status(2);
}

KeptOptions kept_options(const HwlatPlan& plan) {
  return {{"threshold_ns", std::to_string(plan.threshold.count())},
          {"width_ns", std::to_string(plan.width.count())},
          {"window_ns", std::to_string(plan.window.count())},
          {"by_kernel", std::to_string(plan.by_kernel)}};
}

HwlatPlan kept_hwlat_plan(const SessionInfo& info) {
  HwlatPlan plan;
  const auto kept = [&](std::string_view name, Duration otherwise) {
    return Duration(kept_number(info.options, name, static_cast<std::uint64_t>(otherwise.count())));
  };
  plan.threshold = kept("threshold_ns", plan.threshold);
  plan.width = kept("width_ns", plan.width);
  plan.window = kept("window_ns", plan.window);
  plan.by_kernel = kept_number(info.options, "by_kernel", 0) != 0;
  return plan;
}

void HwlatSection::members(Members& member, const ReportContext& context) const {
  const auto setting = [&](Duration value) { return when(!plan_.by_kernel, value.count()); };
  const auto describe_members = [&] {
    member("interrupts_off", plan_.by_kernel,
           {.help = "true: interrupts were off while the thread read the clock, as the kernel's "
                    "own tracer has them"});
    member("threshold_ns", setting(plan_.threshold));
    member("width_ns", setting(plan_.width), {.help = "busy time of a thread in each window"});
    member("window_ns", setting(plan_.window));
    member("windows", when(!context.has_lines, windows_), {.below = true});
  };
  member.object("hwlat", describe_members, {.below = true});
}

void HwlatSection::rows(CsvRows& csv, const ReportContext&) const {
  csv.rows<HwlatSample>(windows_, [](Members& cell, const HwlatSample& window) {
    cell("type", "hwlat");
    describe(cell, window);
  });
}

void HwlatView::begin(const SessionInfo& info) {
  info_ = info;
  report_ = open_report(options_, false, false);
  report_.sink->begin(info);
  report_.sink->section(std::make_shared<TextSection>(hwlat_header()));
}

void HwlatView::record(const Record& record) {
  if (record.schema->id == RECORD_TRACER_TEXT)
    append_tracer_text(record, tracer_text_);
  else if (record.schema->id == RECORD_OSNOISE_GAP)
    windows_.add(record.as<osnoise_gap>(), take_apart_pause(record), info_);
  else if (record.schema->id == RECORD_OSNOISE_SAMPLE)
    if (auto sample = windows_.end(record.as<osnoise_sample>())) add(std::move(*sample));
}

void HwlatView::add(HwlatSample window) {
  report_.sink->section(std::make_shared<TextSection>(hwlat_line(window)));
  report_.sink->section(std::make_shared<HwlatWindowSection>(window));
  if (options_.format != "text" && options_.format != "ndjson") found_.push_back(std::move(window));
}

void HwlatView::add_lines_of_tracer() {
  for (const std::string_view line : split(tracer_text_, '\n'))
    if (auto sample = parse_hwlat_line(line)) add(std::move(*sample));
}

void HwlatView::end(const SessionInfo& measured, const Receipt& receipt) {
  SessionInfo info = measured;
  if (plan_.by_kernel) {
    add_lines_of_tracer();
    info.notes.emplace_back("the kernel's own tracer: interrupts were off while it looked");
  } else {
    info.notes.emplace_back(
        "measured with interrupts on (the kernel's hwlat has them off): what the kernel reported "
        "was taken out; entry and exit of these are in what is left");
    info.notes.push_back(
        fmt::format("{} over the threshold had interrupts or threads that explain them",
                    counted(windows_.explained(), "stall")));
  }
  if (options_.format == "text" && options_.quiet) info.notes.clear();
  report_.sink->section(std::make_shared<HwlatSection>(plan_, std::move(found_)));
  report_.sink->end(info, receipt);
  report_.output->close();
}

}  // namespace overdue

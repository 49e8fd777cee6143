#include "report/osnoise/view.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "report/osnoise/sections.h"

namespace overdue {
namespace {

/// Age of the lines that are written: a noise is reported at its end, and noise of other CPUs may
/// be reported later still.
constexpr std::uint64_t late_lines_ns = 1'200'000'000;

OsnoiseStop stop_at(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan,
                    const NoiseOrigins& origins) {
  NoiseTally tally;
  tally.add(gap, cause, plan, origins);
  return {.cpu = gap.header.cpu,
          .time_ns = gap.header.time_ns,
          .single = true,
          .limit_ns = plan.stop_single_ns,
          .noise_ns = gap.noise_ns,
          .parts = tally.parts(plan.by),
          .residual_ns = gap.noise_ns - tally.parts_ns(),
          .complete = (gap.flags & OSNOISE_CUT) == 0};
}

}  // namespace

OsnoiseView::OsnoiseView(const OsnoisePlan& plan, const OutputOptions& output, bool live)
    : plan_(plan), options_(output), is_live_(live) {
  for (const std::uint32_t cpu : plan.cpus) cpus_.push_back(OsnoiseCpu{.cpu = cpu});
}

void OsnoiseView::begin(const SessionInfo& info) {
  by_tracer_ = info.backend == "kernel";
  report_ = open_report(options_, false, false, is_live_);
  report_.sink->begin(info);
  report_.sink->section(std::make_shared<TextSection>(plan_.trace ? OsnoiseTrace::header()
                                                                  : osnoise_header(info, plan_)));
}

void OsnoiseView::add(const Record& record, OsnoiseCpu& cpu) {
  const auto gap = record.as<osnoise_gap>();
  const TimerCause cause = take_apart_pause(record);
  const NoiseOrigins origins = needs_origins(plan_.by) ? origins_of(record) : NoiseOrigins{};
  cpu.open.add(gap, cause, plan_, origins);
  if (plan_.trace && is_text()) trace_.add(gap, cause);
  if (gap.flags & OSNOISE_STOPPED) stop_ = stop_at(gap, cause, plan_, origins);
}

void OsnoiseView::add(const osnoise_sample& sample, OsnoiseCpu& cpu) {
  if (sample.flags & OSNOISE_STOPPED) {
    const std::uint64_t known_ns = cpu.open.parts_ns();
    stop_ = {.cpu = sample.header.cpu,
             .time_ns = sample.header.time_ns,
             .single = false,
             .limit_ns = plan_.stop_total_ns,
             .noise_ns = sample.noise_ns,
             .parts = cpu.open.parts(plan_.by),
             .residual_ns = sample.noise_ns > known_ns ? sample.noise_ns - known_ns : 0};
  }
  cpu.add(sample);
  if (plan_.trace && is_text()) trace_.add(sample);
}

void OsnoiseView::record(const Record& record) {
  const event_header header = record.header();
  const bool is_sample = header.kind == RECORD_OSNOISE_SAMPLE;
  if (!is_sample && header.kind != RECORD_OSNOISE_GAP) return;
  const auto cpu = std::find_if(cpus_.begin(), cpus_.end(),
                                [&](const OsnoiseCpu& each) { return each.cpu == header.cpu; });
  if (cpu == cpus_.end()) return;
  newest_ns_ = std::max<std::uint64_t>(newest_ns_, header.time_ns);
  if (is_sample)
    add(record.as<osnoise_sample>(), *cpu);
  else
    add(record, *cpu);
  if (!plan_.trace || is_text()) return;
  report_.sink->record(is_sample && by_tracer_ ? Record{&osnoise_sample_of_tracer(), record.bytes}
                                               : record);
}

void OsnoiseView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{} || plan_.trace) return;
  report_.sink->section(std::make_shared<OsnoiseInterval>(plan_, cpus_, info, shown_));
  shown_ = info.duration;
}

void OsnoiseView::show_trace_until(std::uint64_t until_ns) {
  if (std::string lines = trace_.take(until_ns); !lines.empty())
    report_.sink->section(std::make_shared<TextSection>(std::move(lines)));
}

void OsnoiseView::tick() {
  if (!plan_.trace) return;
  if (newest_ns_ > late_lines_ns) show_trace_until(newest_ns_ - late_lines_ns);
  report_.output->flush();
}

void OsnoiseView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo shown = info;
  const bool has_had_time = stop_ || info.duration > Duration(plan_.period_ns);
  for (const OsnoiseCpu& cpu : cpus_)
    if (by_tracer_ && cpu.samples == 0 && has_had_time)
      shown.notes.push_back(fmt::format(
          "CPU {}: none of its periods has ended; the kernel reports whole ones", cpu.cpu));
  for (const OsnoiseCpu& cpu : cpus_)
    if (const std::string left_out = left_out_text(cpu.tally.processes()); !left_out.empty())
      shown.notes.push_back(fmt::format("CPU {}: {}", cpu.cpu, left_out));
  if (stop_ && plan_.by == Whose::cgroup) resolve_cgroups(stop_->parts, info.names);
  if (is_text() && options_.quiet) shown.notes.clear();
  show_trace_until(UINT64_MAX);
  report_.sink->section(std::make_shared<OsnoiseReport>(plan_, std::move(cpus_), stop_));
  report_.sink->end(shown, receipt);
  report_.output->close();
}

}  // namespace overdue

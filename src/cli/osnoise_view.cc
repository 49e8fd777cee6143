#include "cli/osnoise_view.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/osnoise_json.h"
#include "cli/report_envelope.h"
#include "cli/report_output.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

/// Age of the lines that are written: a noise is reported at its end, and noise of other CPUs may
/// be reported later still.
constexpr std::uint64_t late_lines_ns = 1'200'000'000;
constexpr std::size_t parts_shown = 6;

OsnoiseStop stop_at(const osnoise_gap& gap, const TimerCause& cause, const OsnoisePlan& plan) {
  NoiseTally tally;
  tally.add(gap, cause, plan);
  return {.cpu = gap.header.cpu,
          .time_ns = gap.header.time_ns,
          .single = true,
          .limit_ns = plan.stop_single_ns,
          .noise_ns = gap.noise_ns,
          .parts = tally.parts(),
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
  output_ = open_output(options_, false);
  if (is_live_) live_.emplace(*output_);
  if (options_.format == "ndjson") {
    lines_ = std::make_unique<NdjsonSink>(*output_);
    lines_->begin(info);
  }
  if (!is_text()) return;
  output_->append(plan_.trace ? OsnoiseTrace::header() : osnoise_header(info, plan_));
  output_->flush();
}

void OsnoiseView::add(const osnoise_gap& gap, const TimerCause& cause, OsnoiseCpu& cpu) {
  cpu.open.add(gap, cause, plan_);
  if (plan_.trace && is_text()) trace_.add(gap, cause);
  if (gap.flags & OSNOISE_STOPPED) stop_ = stop_at(gap, cause, plan_);
}

void OsnoiseView::add(const osnoise_sample& sample, OsnoiseCpu& cpu) {
  if (sample.flags & OSNOISE_STOPPED) {
    const std::uint64_t known_ns = cpu.open.parts_ns();
    stop_ = {.cpu = sample.header.cpu,
             .time_ns = sample.header.time_ns,
             .single = false,
             .limit_ns = plan_.stop_total_ns,
             .noise_ns = sample.noise_ns,
             .parts = cpu.open.parts(),
             .residual_ns = sample.noise_ns > known_ns ? sample.noise_ns - known_ns : 0};
  }
  cpu.add(sample);
  if (plan_.trace && is_text()) trace_.add(sample);
}

void OsnoiseView::record(const Record& record) {
  const event_header header = record.header();
  const auto cpu = std::find_if(cpus_.begin(), cpus_.end(),
                                [&](const OsnoiseCpu& each) { return each.cpu == header.cpu; });
  if (cpu == cpus_.end()) return;
  newest_ns_ = std::max<std::uint64_t>(newest_ns_, header.time_ns);
  if (header.kind == RECORD_OSNOISE_GAP)
    add(record.as<osnoise_gap>(), take_apart_pause(record), *cpu);
  else if (header.kind == RECORD_OSNOISE_SAMPLE)
    add(record.as<osnoise_sample>(), *cpu);
  if (!plan_.trace || !lines_) return;
  const bool is_sample = header.kind == RECORD_OSNOISE_SAMPLE;
  lines_->record(is_sample && by_tracer_ ? Record{&osnoise_sample_of_tracer(), record.bytes}
                                         : record);
}

std::string OsnoiseView::table(const SessionInfo& info) const {
  const bool narrow = live_ && screen_size(output_->fd()).columns < osnoise_table_width;
  return osnoise_table(cpus_, plan_, info, narrow ? TableWidth::narrow : TableWidth::full);
}

void OsnoiseView::interval(const SessionInfo& info, Duration wall) {
  if (wall == Duration{} || plan_.trace) return;
  if (is_text()) {
    if (live_)
      live_->draw(table(info));
    else
      output_->append(table(info) + "\n");
  } else if (lines_) {
    JsonWriter json(*output_, JsonWriter::Style::one_line);
    json.begin_object();
    json.member("type", "interval");
    json.member("start", format_rfc3339(info.wall(info.start + shown_)));
    json.member("end", format_rfc3339(info.wall(info.start + info.duration)));
    write_noise_cpus(json, plan_, cpus_);
    json.end_object();
    output_->append('\n');
  }
  shown_ = info.duration;
  output_->flush();
}

void OsnoiseView::tick() {
  if (!plan_.trace) return;
  if (is_text() && newest_ns_ > late_lines_ns)
    output_->append(trace_.take(newest_ns_ - late_lines_ns));
  output_->flush();
}

void OsnoiseView::end_text(const SessionInfo& info, const Receipt& receipt) {
  if (plan_.trace) {
    output_->append(trace_.take(UINT64_MAX));
    output_->append('\n');
  }
  if (plan_.histogram) output_->append(osnoise_histogram(cpus_, plan_) + "\n");
  if (live_)
    live_->draw(table(info) + "\n", true);
  else
    output_->append(table(info) + "\n");
  if (const std::string parts = osnoise_parts(cpus_, parts_shown); !parts.empty())
    output_->append(parts + "\n");
  if (stop_) output_->append(osnoise_stop(*stop_) + "\n");
  for (const std::string& line : receipt_lines(info, receipt)) output_->append(line + "\n");
}

void OsnoiseView::end(const SessionInfo& info, const Receipt& receipt) {
  SessionInfo shown = info;
  const bool has_had_time = stop_ || info.duration > Duration(plan_.period_ns);
  for (const OsnoiseCpu& cpu : cpus_)
    if (by_tracer_ && cpu.samples == 0 && has_had_time)
      shown.notes.push_back(fmt::format(
          "CPU {}: none of its periods has ended; the kernel reports whole ones", cpu.cpu));
  if (is_text()) {
    if (options_.quiet) shown.notes.clear();
    end_text(shown, receipt);
  } else {
    const auto members = [&](JsonWriter& json) {
      write_osnoise(json, plan_, cpus_, stop_ ? &*stop_ : nullptr);
    };
    (lines_ ? write_last_lines : write_json_report)(*output_, shown, receipt, members);
  }
  output_->close();
}

}  // namespace overdue

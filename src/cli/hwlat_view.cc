#include "cli/hwlat_view.h"

#include <fmt/format.h>

#include "base/text.h"
#include "bpf/worst.h"
#include "cli/report_envelope.h"
#include "cli/report_output.h"
#include "cli/tracer_text.h"
#include "sinks/ndjson.h"
#include "sinks/text_format.h"

namespace overdue {

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

void HwlatView::begin(const SessionInfo& info) {
  info_ = info;
  output_ = open_output(options_, false);
  if (options_.format == "ndjson") NdjsonSink(*output_).begin(info);
  if (is_text()) output_->append(hwlat_header());
  output_->flush();
}

void HwlatView::record(const Record& record) {
  if (record.schema->id == RECORD_TRACER_TEXT)
    append_tracer_text(record, tracer_text_);
  else if (record.schema->id == RECORD_OSNOISE_GAP)
    windows_.add(record.as<osnoise_gap>(), take_apart_pause(record), info_);
  else if (record.schema->id == RECORD_OSNOISE_SAMPLE)
    if (auto sample = windows_.end(record.as<osnoise_sample>())) add(std::move(*sample));
}

void HwlatView::add(HwlatSample sample) {
  if (is_text()) output_->append(hwlat_line(sample));
  if (options_.format == "ndjson") {
    JsonWriter json(*output_, JsonWriter::Style::one_line);
    json.begin_object();
    json.member("type", "hwlat");
    write_hwlat_sample(json, sample);
    json.end_object();
    output_->append('\n');
  }
  if (options_.format == "json") samples_.push_back(std::move(sample));
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
  if (is_text()) {
    if (options_.quiet) info.notes.clear();
    output_->append('\n');
    for (const std::string& line : receipt_lines(info, receipt)) output_->append(line + "\n");
  } else {
    const auto members = [&](JsonWriter& json) { write_members(json); };
    (options_.format == "ndjson" ? write_last_lines : write_json_report)(*output_, info, receipt,
                                                                         members);
  }
  output_->close();
}

void HwlatView::write_members(JsonWriter& json) const {
  using Elements = JsonWriter::Elements;
  json.key("hwlat");
  json.begin_object(Elements::below);
  json.member("interrupts_off", plan_.by_kernel);
  if (!plan_.by_kernel) {
    json.member("threshold_ns", plan_.threshold.count());
    json.member("width_ns", plan_.width.count());
    json.member("window_ns", plan_.window.count());
  }
  if (options_.format == "json") {
    json.key("windows");
    json.begin_array(Elements::below);
    for (const HwlatSample& sample : samples_) {
      json.begin_object();
      write_hwlat_sample(json, sample);
      json.end_object();
    }
    json.end_array(Elements::below);
  }
  json.end_object(Elements::below);
}

}  // namespace overdue

// `overdue worst hwlat`: by busy threads of our own, or by the kernel's tracer.
#include "cli/worst_hwlat.h"

#include <memory>

#include <fmt/format.h>

#include "base/text.h"
#include "cli/hwlat.h"
#include "cli/measure.h"
#include "cli/osnoise_instruments.h"
#include "cli/progress.h"
#include "cli/report_envelope.h"
#include "cli/report_output.h"
#include "cli/stop_signals.h"
#include "cli/worst_kernel.h"
#include "kernel/capabilities.h"
#include "probes/timerlat/threads.h"
#include "sinks/ndjson.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

/// Ordinary threads are kept away; what the kernel itself has to do is not.
constexpr int hwlat_priority = 50;

/// What was found, in the format asked for.
class HwlatReport {
 public:
  HwlatReport(const HwlatRequest& request, const SessionInfo& info)
      : request_(request), output_(open_output(request.output, false)) {
    if (request.output.format == "ndjson") NdjsonSink(*output_).begin(info);
    if (is_text()) output_->append(hwlat_header());
    output_->flush();
  }

  void add(HwlatSample sample) {
    if (is_text()) output_->append(hwlat_line(sample));
    if (request_.output.format == "ndjson") {
      JsonWriter json(*output_, JsonWriter::Style::one_line);
      json.begin_object();
      json.member("type", "hwlat");
      write_hwlat_sample(json, sample);
      json.end_object();
      output_->append('\n');
    }
    if (request_.output.format == "json") samples_.push_back(std::move(sample));
  }
  void flush() { output_->flush(); }

  void end(SessionInfo info, const Receipt& receipt) {
    if (is_text()) {
      if (request_.output.quiet) info.notes.clear();
      output_->append('\n');
      for (const std::string& line : receipt_lines(info, receipt)) output_->append(line + "\n");
    } else {
      const auto members = [&](JsonWriter& json) { write_members(json); };
      (request_.output.format == "ndjson" ? write_last_lines : write_json_report)(*output_, info,
                                                                                  receipt, members);
    }
    output_->close();
  }

 private:
  bool is_text() const { return request_.output.format == "text"; }

  void write_members(JsonWriter& json) const {
    using Elements = JsonWriter::Elements;
    json.key("hwlat");
    json.begin_object(Elements::below);
    json.member("interrupts_off", request_.by_kernel);
    if (!request_.by_kernel) {
      json.member("threshold_ns", request_.threshold.count());
      json.member("width_ns", request_.width.count());
      json.member("window_ns", request_.window.count());
    }
    if (request_.output.format == "json") {
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

  const HwlatRequest& request_;
  std::unique_ptr<Output> output_;
  std::vector<HwlatSample> samples_;
};

class HwlatListener final : public MeasureListener {
 public:
  explicit HwlatListener(const HwlatRequest& request)
      : request_(request), windows_(static_cast<std::uint64_t>(request.threshold.count())) {}

  void begin(const SessionInfo& info) override {
    info_ = info;
    report_ = std::make_unique<HwlatReport>(request_, info);
  }
  void record(const Record& record) override {
    if (record.schema->id == RECORD_OSNOISE_GAP)
      windows_.add(record.as<osnoise_gap>(), take_apart_pause(record), info_);
    else if (auto sample = windows_.end(record.as<osnoise_sample>()))
      report_->add(std::move(*sample));
  }
  void interval(const SessionInfo&, Duration) override {}
  void tick() override { report_->flush(); }
  void end(const SessionInfo& measured, const Receipt& receipt) override {
    SessionInfo info = measured;
    info.notes.emplace_back(
        "measured with interrupts on (the kernel's hwlat has them off): what the kernel told of "
        "was taken out, and the ways to it and back are in what is left");
    info.notes.push_back(
        fmt::format("{} from the threshold on had interrupts or threads in them "
                    "that explain them",
                    counted(windows_.explained(), "pause")));
    report_->end(std::move(info), receipt);
  }

 private:
  const HwlatRequest& request_;
  SessionInfo info_;
  HwlatWindows windows_;
  std::unique_ptr<HwlatReport> report_;
};

int run_busy_threads(const HwlatRequest& request, const Kernel& kernel) {
  require_capabilities("worst", measuring_capabilities());
  check_real_time_budget();
  MeasureRequest measured;
  measured.command = "worst";
  measured.selection.kind = TargetKind::all;
  if (!request.cpus_text.empty()) {
    measured.selection.cpus = request.cpus;
    measured.selection.cpus_text = request.cpus_text;
  }
  measured.duration = request.duration;
  measured.quiet = request.output.quiet;
  measured.verbose = request.output.verbose;
  measured.streams = true;
  measured.own_threads = true;
  measured.spans = {"hwlat"};
  BusyThreads threads({.cpus = request.cpus,
                       .period = request.window,
                       .runtime = request.width,
                       .threshold = request.threshold,
                       .priority = hwlat_priority,
                       .in_turn = true});
  OsnoiseInstruments instruments(threads);
  HwlatListener listener(request);
  return measure(measured, kernel, instruments, listener);
}

}  // namespace

int run_hwlat(const HwlatRequest& request, const Kernel& kernel) {
  if (!request.by_kernel) return run_busy_threads(request, kernel);
  std::unique_ptr<HwlatReport> report;
  Receipt receipt;
  const auto begin = [&](const SessionInfo& info) {
    report = std::make_unique<HwlatReport>(request, info);
  };
  const auto end = [&](SessionInfo info, const KernelTrace& trace) {
    for (const std::string_view line : split(trace.text, '\n'))
      if (auto sample = parse_hwlat_line(line)) {
        ++receipt.events;
        report->add(std::move(*sample));
      }
    info.notes.emplace_back("the kernel's own tracer: interrupts were off while it looked");
    receipt.own = trace.own;
    end_report(info, receipt, [&] { report->end(info, receipt); });
  };
  KernelTracerRequest tracer;
  tracer.tracer = "hwlat";
  tracer.duration = request.duration;
  tracer.output = request.output;
  return run_in_instance(tracer, kernel, begin, end);
}

}  // namespace overdue

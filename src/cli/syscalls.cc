// `overdue syscalls`: which system calls does this make, and how long does each take.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/output_file.h"
#include "cli/command.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/syscall_view.h"
#include "trace/writer.h"

namespace overdue {
namespace {

/// Shows the measurement, and saves it if asked.
class Reporter final : public MeasureListener {
 public:
  Reporter(SyscallView& view, Output& output, TraceWriter* trace, bool live)
      : view_(view), output_(output), trace_(trace), live_(live) {}

  void begin(const SessionInfo& info) override {
    view_.begin(info);
    if (trace_) trace_->begin(info);
    flush_if_live();
  }
  void record(const Record& record) override {
    view_.record(record);
    if (trace_) trace_->record(record);
  }
  void discovered(const SyscallSet& set) override { view_.discovered(set); }
  void interval(const SessionInfo& info, Duration wall) override {
    view_.interval(info, wall);
    flush_if_live();
  }
  void tick() override {
    flush_if_live();
    if (trace_) trace_->flush();
  }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    view_.end(info, receipt);
    output_.close();
    if (trace_) trace_->end(info, receipt);
  }

 private:
  void flush_if_live() {
    if (live_) output_.flush();
  }

  SyscallView& view_;
  Output& output_;
  TraceWriter* trace_;
  bool live_;
};

class SyscallsCommand final : public Command {
 public:
  std::string_view name() const override { return "syscalls"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_view_options(app, view_);
    add_output_options(app, output_, true);
    app.add_flag("--two-phase", two_phase_);
    app.add_option("--discover-time", discover_time_);
    app.add_option("--save", save_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  MeasureRequest request(const Invocation& invocation);

  TargetOptions target_;
  StopOptions stop_;
  ViewOptions view_;
  OutputOptions output_;
  bool two_phase_ = false;
  std::string discover_time_ = "1s";
  std::string save_;
  std::optional<std::string> buffer_;
};

MeasureRequest SyscallsCommand::request(const Invocation& invocation) {
  if (invocation.has_program && invocation.program.empty())
    throw Error("no program after '--'").hint("overdue syscalls -- ls -l").exit_status(2);
  view_.check();
  target_.command = invocation.program;
  MeasureRequest request;
  request.command = "syscalls";
  request.selection = parse_target(target_);
  request.inherited = invocation.inherited;
  request.duration = stop_.parsed();
  request.interval = output_.parsed_interval();
  request.quiet = output_.quiet;
  request.verbose = output_.verbose;
  const GroupBy by = view_.group_by();
  request.by_container = by.container || !save_.empty();
  request.streams = view_.calls || request.interval.has_value();
  request.probe.by_thread = by.thread || by.process || by.container;
  request.probe.calls = view_.calls;
  request.probe.aggregate = !view_.calls;
  request.probe.discover_only = view_.discover;
  request.probe.two_phase = two_phase_;
  request.probe.only = view_.wanted();
  request.ring_bytes = buffer_ ? parse_buffer_size(*buffer_) : 0;
  if (two_phase_) request.discovery = parse_duration(discover_time_, "--discover-time");
  if (view_.discover && (view_.calls || two_phase_ || request.interval || !save_.empty()))
    throw Error(
        "--discover shows names only; it does not go with --calls, --two-phase, --interval or "
        "--save")
        .hint("leave one of them out")
        .exit_status(2);
  if (view_.calls && request.interval)
    throw Error("--calls shows every call as it ends; --interval does not go with it")
        .hint("leave one of them out")
        .exit_status(2);
  return request;
}

int SyscallsCommand::run(const Invocation& invocation) {
  MeasureRequest request = this->request(invocation);
  const bool stream = request.streams;
  ReportOutput report = open_report(output_, invocation.has_program, stream);
  SyscallView view(view_, request.probe.only, *report.sink);
  std::optional<TraceWriter> trace;
  if (!save_.empty()) trace.emplace(create_output_file(save_), syscalls_probe.schemas, save_);
  const bool live = output_.file.empty() || stream;
  Reporter reporter(view, *report.output, trace ? &*trace : nullptr, live);
  return measure(request, reporter);
}

}  // namespace

std::unique_ptr<Command> make_syscalls_command() {
  return std::make_unique<SyscallsCommand>();
}

}  // namespace overdue

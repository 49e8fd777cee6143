// `overdue syscalls`: the system calls of a target, and how long each takes.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/callers.h"
#include "live/syscall_probe_set.h"
#include "report/output.h"
#include "report/syscalls/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "source/trace_saver.h"

namespace overdue {
namespace {

/// The destination of the figures.
struct FiguresDestination {
  OutputOptions output;
  bool spawned = false;
  bool stream = false;  ///< lines come during the measurement
  std::string save;     ///< trace file; empty: none
  bool sandbox = true;
};

/// Prints the measurement, and optionally saves it.
class Reporter final : public MeasureListener {
 public:
  Reporter(const ViewOptions& view, SyscallProbeSet& probe_set, FiguresDestination destination)
      : options_(view), probe_set_(probe_set), to_(std::move(destination)) {
    if (!probe_set.options().callers) return;
    callers_ = std::make_unique<Callers>(LiveStacks::Options{.sandbox = to_.sandbox});
    callers_->set_learner(probe_set);
  }

  void while_waiting(const std::function<void()>& meanwhile) override {
    if (callers_) callers_->while_waiting(meanwhile);
  }
  // Files are opened only now: a measurement that cannot begin must not destroy the last report.
  void begin(const SessionInfo& info) override {
    report_ = open_report(to_.output, to_.spawned, to_.stream);
    view_ = std::make_unique<SyscallView>(options_, probe_set_.options().only, *report_.sink);
    if (callers_) callers_->begin(info);
    view_->begin(info);
    saver_.begin(info);
    flush_if_live();
  }
  void record(const Record& record) override {
    if (callers_ && callers_->take(record)) return;
    const Record settled = callers_ ? callers_->settled(record) : record;
    view_->record(settled);
    saver_.record(settled);
  }
  void interval(const SessionInfo& info, Duration wall) override {
    view_->interval(with_callers(info), wall);
    flush_if_live();
  }
  void tick() override {
    if (callers_) callers_->follow();
    flush_if_live();
    saver_.flush();
  }
  void end(const SessionInfo& measured, const Receipt& receipt) override {
    SessionInfo info = with_callers(measured);
    if (callers_)
      for (std::string& note : callers_->notes()) info.notes.push_back(std::move(note));
    if (probe_set_.options().discover_only) view_->discovered(probe_set_.discovered());
    view_->end(info, receipt);
    report_.output->close();
    saver_.end(info, receipt);
  }

 private:
  SessionInfo with_callers(SessionInfo info) const {
    if (callers_) info.names.callers = callers_->names();
    return info;
  }

  // A file is written at the end, except a stream, which a reader may follow.
  void flush_if_live() {
    if (to_.output.file.empty() || to_.stream) report_.output->flush();
  }

  const ViewOptions& options_;
  SyscallProbeSet& probe_set_;
  FiguresDestination to_;
  std::unique_ptr<Callers> callers_;  ///< null unless callers are requested
  ReportOutput report_;
  std::unique_ptr<SyscallView> view_;  ///< set by begin()
  TraceSaver saver_{to_.save, nullptr, syscalls_probe.schemas};
};

class SyscallsCommand final : public Command {
 public:
  std::string_view name() const override { return "syscalls"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_view_options(app, view_);
    add_output_options(app, output_, true);
    app.add_flag("--two-phase", two_phase_);
    app.add_option("--discover-time", discover_time_);
    app.add_option("--save", save_);
    app.add_option("--user-stack-bytes", user_stack_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  MeasureRequest request(const Invocation& invocation);
  SyscallProbeSet probe_set() const;

  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  ViewOptions view_;
  OutputOptions output_;
  bool two_phase_ = false;
  std::string discover_time_ = "1s";
  std::string save_;
  std::uint32_t user_stack_ = 16 << 10;
  std::optional<std::string> buffer_;
};

MeasureRequest SyscallsCommand::request(const Invocation& invocation) {
  check_program(invocation, "overdue syscalls -- ls -l");
  view_.check();
  check_sink_format(output_.format);
  if (!save_.empty() && save_ == output_.file)
    throw Error("-o and --save name the same file").hint("give two names").exit_status(2);
  if (view_.calls) refuse_stream_on_page(output_.format, "--calls");
  MeasureRequest request = request_of_target("syscalls", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  const GroupBy by = view_.group_by();
  request.by_container = by.container || by.cgroup || !save_.empty();
  request.streams = view_.calls || request.interval.has_value();
  if (view_.discover && (view_.calls || two_phase_ || request.interval || !save_.empty()))
    throw Error(
        "--discover shows names only; it does not go with --calls, --two-phase, --interval or "
        "--save")
        .hint("leave one of them out")
        .exit_status(2);
  check_user_stack(user_stack_);
  if (view_.calls && request.interval)
    throw Error("--calls shows every call as it ends; --interval does not go with it")
        .hint("leave one of them out")
        .exit_status(2);
  return request;
}

SyscallProbeSet SyscallsCommand::probe_set() const {
  const GroupBy by = view_.group_by();
  SyscallsOptions options;
  options.by_thread = by.needs_threads();
  options.calls = view_.calls;
  options.aggregate = !view_.calls;
  options.callers = by.needs_callers();
  options.user_stack_bytes = user_stack_;
  options.discover_only = view_.discover && !options.callers;
  options.two_phase = two_phase_;
  options.only = view_.wanted();
  std::optional<Duration> discovery;
  if (two_phase_) discovery = parse_duration(discover_time_, "--discover-time");
  return {options, discovery, buffer_ ? parse_buffer_size(*buffer_) : 0};
}

int SyscallsCommand::run(const Invocation& invocation) {
  const MeasureRequest request = this->request(invocation);
  SyscallProbeSet probe_set = this->probe_set();
  Reporter reporter(view_, probe_set,
                    {.output = output_,
                     .spawned = invocation.has_program,
                     .stream = request.streams,
                     .save = save_,
                     .sandbox = !stack_options_.no_sandbox});
  return measure(request, *kernel_.open(), probe_set, reporter);
}

}  // namespace

std::unique_ptr<Command> make_syscalls_command() {
  return std::make_unique<SyscallsCommand>();
}

}  // namespace overdue

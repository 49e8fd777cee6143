// `overdue why`: the causes of late time on one page, without a threshold.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/file_locks.h"
#include "live/live_stacks.h"
#include "live/stall_probe_set.h"
#include "report/why/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "source/trace_saver.h"

namespace overdue {
namespace {

constexpr Duration default_duration = std::chrono::seconds(10);

class WhyReporter final : public MeasureListener {
 public:
  WhyReporter(WhyPlan plan, const OutputOptions& output, bool sandbox, const std::string& save)
      : stacks_({.sandbox = sandbox, .many_stacks = true}),
        view_(std::move(plan), output, stacks_),
        saver_(save, &stacks_) {}

  void while_waiting(const std::function<void()>& meanwhile) override {
    stacks_.while_waiting(meanwhile);
  }
  void begin(const SessionInfo& info) override {
    stacks_.begin(info);
    view_.begin(info);
    saver_.begin(info);
  }
  void record(const Record& record) override {
    const std::uint16_t kind = record.schema->id;
    if (kind == RECORD_SPAN || kind == RECORD_WAIT_STACK || kind == RECORD_PROFILE_SAMPLE)
      stacks_.will_name(record.header().pid);
    view_.record(record);
    saver_.record(record);
  }
  void polled() override { stacks_.follow(); }
  void interval(const SessionInfo&, Duration) override {}
  void tick() override {
    view_.tick();
    saver_.flush();
  }
  void settle() override { view_.settle(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo reported = info;
    for (std::string& note : stacks_.notes()) reported.notes.push_back(std::move(note));
    keep_file_locks(file_locks_of(view_.lock_waiters(reported)), reported);
    view_.end(reported, receipt);
    saver_.end(reported, receipt);
  }

 private:
  LiveStacks stacks_;
  WhyView view_;
  TraceSaver saver_;
};

class WhyCommand final : public Command {
 public:
  std::string_view name() const override { return "why"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, false);
    app.add_option("--top", top_);
    app.add_option("--save", save_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  OutputOptions output_;
  std::uint32_t top_ = 0;
  std::string save_;
};

int WhyCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue why -- make");
  check_sink_format(output_.format);
  MeasureRequest request = request_of_target("why", invocation, target_, stop_, output_);
  if (!request.duration && !invocation.has_program) request.duration = default_duration;
  const WhyPlan plan{
      .cpus = request.selection.cpus, .top = top_, .spawned = invocation.has_program};
  request.options = kept_options(plan);
  StallOptions options;
  options.purpose = "find causes";
  options.thresholds = plan.thresholds;
  options.spans = parse_spans({"syscall", "offcpu", "tcp_connect"});
  options.timeout = plan.timeout;
  options.totals = options.call_sums = options.profiles = options.adapts = true;
  options.whole_machine = request.selection.kind == TargetKind::all;
  WhyReporter reporter(plan, output_, !stack_options_.no_sandbox, save_);
  StallProbeSet probe_set(std::move(options));
  return measure(request, *kernel_.open(), probe_set, reporter);
}

}  // namespace

std::unique_ptr<Command> make_why_command() {
  return std::make_unique<WhyCommand>();
}

}  // namespace overdue

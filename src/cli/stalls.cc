// `overdue stalls`: what took longer than a threshold, and exactly why.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/actions.h"
#include "cli/command.h"
#include "cli/flame_sink.h"
#include "cli/live_stacks.h"
#include "cli/measure.h"
#include "cli/options.h"
#include "cli/report_output.h"
#include "cli/stall_instruments.h"
#include "cli/stall_view.h"
#include "sinks/make_sink.h"

namespace overdue {
namespace {

class StallReporter final : public MeasureListener {
 public:
  /// `flame`: where to draw to; empty: nowhere.
  StallReporter(StallViewOptions view, OutputOptions output, ActionOptions actions,
                const std::string& flame, bool spawned)
      : options_(std::move(view)),
        output_(std::move(output)),
        spawned_(spawned),
        actions_(std::move(actions)) {
    options_.on_finding = [this](const Finding& finding) { actions_.finding(finding); };
    if (!flame.empty()) drawing_ = std::make_unique<FlameSink>(flame, flame_format_of(flame));
  }

  void begin(const SessionInfo& info) override {
    report_ = open_report(output_, spawned_, true);
    view_ = std::make_unique<StallView>(options_, stacks_, *report_.sink, drawing_.get());
    stacks_.begin(info);
    view_->begin(info);
    report_.output->flush();
  }
  void record(const Record& record) override { view_->record(record); }
  void interval(const SessionInfo&, Duration) override {}
  void change(KernelTime at, const StallOptions& options) {
    if (view_) view_->change(at, options.thresholds, options.timeout);
  }
  void tick() override {
    stacks_.follow();
    actions_.tick();
    report_.output->flush();
  }
  bool wants_stop() const override { return actions_.wants_stop(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo told = info;
    for (std::string& note : stacks_.notes()) told.notes.push_back(std::move(note));
    for (std::string& note : actions_.notes()) told.notes.push_back(std::move(note));
    view_->end(std::move(told), receipt);
    report_.output->close();
  }

 private:
  StallViewOptions options_;
  OutputOptions output_;
  bool spawned_;
  LiveStacks stacks_;
  Actions actions_;
  std::unique_ptr<FlameSink> drawing_;
  ReportOutput report_;
  std::unique_ptr<StallView> view_;  ///< from begin() on
};

class StallsCommand final : public Command {
 public:
  std::string_view name() const override { return "stalls"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_output_options(app, output_, false);
    app.add_option("-T,--threshold", thresholds_)->allow_extra_args(false)->take_all();
    app.add_option("-e,--only", only_)->allow_extra_args(false)->take_all();
    app.add_option("--timeout", timeout_);
    app.add_option("--on", actions_)->allow_extra_args(false)->take_all();
    app.add_option("--on-every", every_);
    app.add_flag("--idle", idle_);
    app.add_option("--keep-under", keep_under_);
    app.add_option("--user-stack-bytes", user_stack_);
    app.add_option("--first", first_);
    app.add_option("--flame", flame_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  StallOptions options() const;

  TargetOptions target_;
  StopOptions stop_;
  OutputOptions output_;
  std::vector<std::string> thresholds_;
  std::vector<std::string> only_;
  std::string timeout_;
  std::vector<std::string> actions_;
  std::string every_ = "1s";
  bool idle_ = false;
  std::string keep_under_;
  std::uint32_t user_stack_ = 16 << 10;
  std::uint64_t first_ = 3;
  std::string flame_;
  std::optional<std::string> buffer_;
};

StallOptions StallsCommand::options() const {
  StallOptions options;
  std::vector<std::string> thresholds = thresholds_;
  if (!timeout_.empty()) {
    options.timeout = parse_duration(timeout_, "--timeout");
    if (*options.timeout == Duration(0))
      throw Error("a timeout of 0 would find every call open").hint("--timeout 10s").exit_status(2);
    if (thresholds.empty()) thresholds.push_back(timeout_);
  }
  options.thresholds = parse_thresholds(thresholds);
  options.spans = {SPAN_SYSCALL};
  if (!only_.empty()) options.only = parse_syscall_set(only_, {});
  options.idle = idle_;
  if (user_stack_ > USER_STACK_MAX)
    throw Error("--user-stack-bytes {} is too much", user_stack_)
        .hint(fmt::format("at most {}; 0 copies none", USER_STACK_MAX))
        .exit_status(2);
  options.user_stack_bytes = user_stack_;
  options.ring_bytes = buffer_ ? parse_buffer_size(*buffer_) : 0;
  return options;
}

int StallsCommand::run(const Invocation& invocation) {
  if (invocation.has_program && invocation.program.empty())
    throw Error("no program after '--'").hint("overdue stalls -T 10ms -- make").exit_status(2);
  check_sink_format(output_.format);
  if (output_.format == "csv")
    throw Error("stalls have stacks, which CSV cannot hold").hint("-f ndjson").exit_status(2);
  target_.command = invocation.program;
  StallInstruments instruments(options());
  MeasureRequest request;
  request.command = "stalls";
  request.selection = parse_target(target_);
  request.inherited = invocation.inherited;
  request.duration = stop_.parsed();
  request.quiet = output_.quiet;
  request.verbose = output_.verbose;
  request.by_container = true;
  request.streams = true;
  ActionOptions actions = parse_actions(actions_);
  actions.every = parse_duration(every_, "--on-every");
  actions.inherited = invocation.inherited;
  StallReporter reporter({.thresholds = instruments.options().thresholds,
                          .timeout = instruments.options().timeout,
                          .idle = idle_,
                          .keep_under = keep_under_,
                          .on_finding = {},
                          .first = output_.format == "text" ? first_ : 0},
                         output_, std::move(actions), flame_, invocation.has_program);
  instruments.on_change = [&](KernelTime at) { reporter.change(at, instruments.options()); };
  return measure(request, instruments, reporter);
}

}  // namespace

std::unique_ptr<Command> make_stalls_command() {
  return std::make_unique<StallsCommand>();
}

}  // namespace overdue

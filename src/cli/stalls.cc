// `overdue stalls`: what took longer than a threshold, and exactly why.
#include <CLI/CLI.hpp>

#include <algorithm>

#include "base/error.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/actions.h"
#include "live/debuginfod.h"
#include "live/event_finder.h"
#include "live/live_stacks.h"
#include "live/naming_listener.h"
#include "live/stall_probe_set.h"
#include "report/output.h"
#include "report/stalls/flame.h"
#include "report/stalls/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"

namespace overdue {
namespace {

std::unique_ptr<Debuginfod> made_debuginfod(const std::optional<DebuginfodOptions>& options) {
  return options ? std::make_unique<Debuginfod>(*options) : nullptr;
}

/// Asks `server`, which may be null, for the debug files of programs without names.
FetchDebugFile fetch_from(Debuginfod* server) {
  if (!server) return {};
  return [server](const std::string& id) { return server->find(id); };
}

void add_notes(std::vector<std::string> notes, SessionInfo& info) {
  for (std::string& note : notes) info.notes.push_back(std::move(note));
}

class StallReport final : public MeasureListener {
 public:
  /// `debuginfod` may be null, `flame`, the file of the drawing, empty. The references and
  /// `debuginfod` must outlive this object.
  StallReport(StallViewOptions view, const OutputOptions& output, bool spawned, StackNamer& stacks,
              Debuginfod* debuginfod, Actions& actions, const std::string& flame)
      : options_(std::move(view)),
        output_(output),
        spawned_(spawned),
        stacks_(stacks),
        debuginfod_(debuginfod),
        actions_(actions) {
    options_.on_finding = [this](const Finding& finding) { actions_.finding(finding); };
    if (!flame.empty()) drawing_ = std::make_unique<FlameSink>(flame, flame_format_of(flame));
  }

  void while_waiting(const std::function<void()>& meanwhile) override {
    if (debuginfod_) debuginfod_->while_waiting(meanwhile);
  }
  void begin(const SessionInfo& info) override {
    report_ = open_report(output_, spawned_, true);
    view_ = std::make_unique<StallView>(options_, stacks_, *report_.sink, drawing_.get());
    view_->begin(info);
    report_.output->flush();
  }
  void use_names(const Names& names) override { view_->use_names(names); }
  void record(const Record& record) override { view_->record(record); }
  void interval(const SessionInfo&, Duration) override {}
  void change(KernelTime at, const StallOptions& options) {
    if (view_) view_->change(at, options.thresholds, options.timeout);
  }
  void tick() override {
    view_->tick(KernelClock::now());
    actions_.tick();
    report_.output->flush();
  }
  bool wants_stop() const override { return actions_.wants_stop(); }
  void settle() override { view_->finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    view_->end(info, receipt);
    report_.output->close();
  }

 private:
  StallViewOptions options_;
  const OutputOptions& output_;
  bool spawned_;
  StackNamer& stacks_;
  Debuginfod* debuginfod_;
  Actions& actions_;
  std::unique_ptr<FlameSink> drawing_;
  ReportOutput report_;
  std::unique_ptr<StallView> view_;  ///< set by begin()
};

class StallsCommand final : public Command {
 public:
  std::string_view name() const override { return "stalls"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, false);
    app.add_option("-T,--threshold", thresholds_)->allow_extra_args(false)->take_all();
    app.add_option("--span", spans_)->allow_extra_args(false)->take_all();
    app.add_option("-e,--only", only_)->allow_extra_args(false)->take_all();
    app.add_option("--timeout", timeout_);
    app.add_option("--on", actions_)->allow_extra_args(false)->take_all();
    app.add_option("--on-every", every_);
    app.add_flag("--idle", idle_);
    app.add_option("--keep-under", keep_under_);
    app.add_option("--user-stack-bytes", user_stack_);
    app.add_option("--first", first_);
    app.add_flag("--summary", summary_);
    app.add_option("--top", top_);
    app.add_option("--flame", flame_);
    app.add_option("--save", save_);
    app.add_flag("--no-resolve", no_resolve_);
    app.add_flag("--lines", lines_);
    app.add_flag("--debuginfod", debuginfod_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  StallOptions options() const;
  /// Without -T and --timeout, the threshold adapts to what is late.
  bool chooses_threshold() const { return thresholds_.empty() && timeout_.empty(); }
  /// The values of -T; without -T, the value of --timeout, or a threshold to begin with.
  std::vector<std::string> threshold_list() const;

  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  OutputOptions output_;
  std::vector<std::string> thresholds_;
  std::vector<std::string> spans_;
  std::vector<std::string> only_;
  std::string timeout_;
  std::vector<std::string> actions_;
  std::string every_ = "1s";
  bool idle_ = false;
  std::string keep_under_;
  std::uint32_t user_stack_ = 16 << 10;
  std::uint64_t first_ = 3;
  bool summary_ = false;
  std::uint32_t top_ = 0;
  std::string flame_;
  std::string save_;
  bool no_resolve_ = false;
  bool lines_ = false;
  bool debuginfod_ = false;
  std::optional<std::string> buffer_;
};

std::vector<std::string> StallsCommand::threshold_list() const {
  if (chooses_threshold()) return {"1ms"};
  if (thresholds_.empty()) return {timeout_};
  return thresholds_;
}

StallOptions StallsCommand::options() const {
  StallOptions options;
  options.spans = parse_spans(spans_);
  if (!timeout_.empty()) {
    options.timeout = parse_duration(timeout_, "--timeout");
    if (*options.timeout == Duration(0))
      throw Error("a timeout of 0 would find every call open").hint("--timeout 10s").exit_status(2);
  }
  options.adapts = chooses_threshold();
  options.thresholds = parse_thresholds(threshold_list(), options.spans.pair_names());
  options.thresholds.check(options.spans.kinds, options.spans.pair_names());
  if (!only_.empty()) options.only = parse_syscall_set(only_, {});
  if (!options.spans.has(SPAN_SYSCALL) && (options.only || options.timeout))
    throw Error("{} is about system calls, and those are not looked for",
                options.only ? "-e" : "--timeout")
        .hint("--span syscall")
        .exit_status(2);
  if (!keep_under_.empty() &&
      std::none_of(options.spans.kinds.begin(), options.spans.kinds.end(), may_have_user_stack))
    throw Error("--keep-under is about user stacks, and the spans looked for have none")
        .hint("--span syscall")
        .exit_status(2);
  check_user_stack(user_stack_);
  options.user_stack_bytes = user_stack_;
  if (first_ > INT64_MAX)
    throw Error("--first {}: not a number of stalls", static_cast<std::int64_t>(first_))
        .hint("--first 10; 0 shows all")
        .exit_status(2);
  options.ring_bytes = buffer_ ? parse_buffer_size(*buffer_) : 0;
  return options;
}

int StallsCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue stalls -T 10ms -- make");
  check_sink_format(output_.format);
  if (no_resolve_ && !keep_under_.empty())
    throw Error("--keep-under needs names, which --no-resolve leaves out")
        .hint("overdue report FILE --keep-under … names them first")
        .exit_status(2);
  if (no_resolve_ && (lines_ || debuginfod_)) {
    const char* const option = lines_ ? "--lines" : "--debuginfod";
    throw Error("{} needs names, which --no-resolve leaves out", option)
        .hint(fmt::format("overdue report FILE {}", option))
        .exit_status(2);
  }
  StallOptions wanted = options();
  MeasureRequest request = request_of_target("stalls", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  wanted.whole_machine = request.selection.kind == TargetKind::all;
  prepare_user_spans(wanted, request.selection, !stack_options_.no_sandbox);
  StallProbeSet probe_set(std::move(wanted));
  request.by_container = true;
  request.streams = true;
  request.thresholds = threshold_list();
  request.spans = spans_;
  request.only = only_;
  if (const auto timeout = probe_set.options().timeout)
    request.options = {{"timeout_ns", std::to_string(timeout->count())}};
  ActionOptions on_finding = parse_actions(actions_);
  on_finding.every = parse_duration(every_, "--on-every");
  on_finding.inherited = invocation.inherited;
  request.starts_helpers = !on_finding.command.empty() || debuginfod_;
  const auto debuginfod = made_debuginfod(
      debuginfod_ ? std::optional(DebuginfodOptions::current(invocation.inherited)) : std::nullopt);
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox,
                     .names = !no_resolve_,
                     .lines = lines_,
                     .fetch_debug_file = fetch_from(debuginfod.get())});
  Actions actions(std::move(on_finding));
  StallReport report({.thresholds = probe_set.options().thresholds,
                      .timeout = probe_set.options().timeout,
                      .spans = probe_set.options().spans.kinds,
                      .cpus = request.selection.cpus,
                      .idle = idle_,
                      .only = probe_set.options().only,
                      .is_chosen = names_calls(only_),
                      .keep_under = keep_under_,
                      .first = output_.format == "text" ? first_ : 0,
                      .only_summary = summary_,
                      .top = top_,
                      .on_examined = [&](const auto&... what) { probe_set.examined(what...); }},
                     output_, invocation.has_program, stacks, debuginfod.get(), actions, flame_);
  NamingListener listener(report, stacks, save_, [&](SessionInfo& info) {
    if (debuginfod) add_notes(debuginfod->notes(), info);
    add_notes(actions.notes(), info);
  });
  probe_set.on_change = [&](KernelTime at) { report.change(at, probe_set.options()); };
  return measure(request, *kernel_.open(), probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_stalls_command() {
  return std::make_unique<StallsCommand>();
}

}  // namespace overdue

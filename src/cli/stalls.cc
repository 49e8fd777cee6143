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
#include "live/stall_probe_set.h"
#include "report/output.h"
#include "report/stalls/flame.h"
#include "report/stalls/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "source/trace_saver.h"

namespace overdue {
namespace {

struct Destination {
  OutputOptions output;
  bool spawned = false;
  bool names = true;  ///< false: frames are modules and offsets
  bool lines = false;
  bool sandbox = true;
  std::optional<DebuginfodOptions> debuginfod{};  ///< empty: no server is asked
  std::string flame;                              ///< file of the drawing; empty: none
  std::string save;                               ///< trace file; empty: none
};

std::unique_ptr<Debuginfod> made_debuginfod(const std::optional<DebuginfodOptions>& options) {
  return options ? std::make_unique<Debuginfod>(*options) : nullptr;
}

class StallReporter final : public MeasureListener {
 public:
  StallReporter(StallViewOptions view, ActionOptions actions, Destination destination)
      : options_(std::move(view)),
        to_(std::move(destination)),
        debuginfod_(made_debuginfod(to_.debuginfod)),
        stacks_({.sandbox = to_.sandbox,
                 .names = to_.names,
                 .lines = to_.lines,
                 .fetch_debug_file = debuginfod_ ? FetchDebugFile([this](const std::string& id) {
                   return debuginfod_->find(id);
                 })
                                                 : FetchDebugFile()}),
        actions_(std::move(actions)) {
    options_.on_finding = [this](const Finding& finding) { actions_.finding(finding); };
    if (!to_.flame.empty())
      drawing_ = std::make_unique<FlameSink>(to_.flame, flame_format_of(to_.flame));
  }

  void while_waiting(const std::function<void()>& meanwhile) override {
    stacks_.while_waiting(meanwhile);
    if (debuginfod_) debuginfod_->while_waiting(meanwhile);
  }
  void take_python(const LearnPython& learn) override { stacks_.take_python(learn); }
  void add_names(Names& names) const override { stacks_.add_names(names); }
  void begin(const SessionInfo& info) override {
    report_ = open_report(to_.output, to_.spawned, true);
    view_ = std::make_unique<StallView>(options_, stacks_, *report_.sink, drawing_.get());
    names_ = info.names;
    stacks_.begin(info);
    view_->begin(info);
    use_new_names();
    report_.output->flush();
    saver_.begin(info);
  }
  void record(const Record& record) override {
    const std::uint16_t kind = record.schema->id;
    if (kind == RECORD_SPAN || kind == RECORD_WAIT_STACK) stacks_.will_name(record.header().pid);
    view_->record(record);
    saver_.record(record);
  }
  void interval(const SessionInfo&, Duration) override {}
  void change(KernelTime at, const StallOptions& options) {
    if (view_) view_->change(at, options.thresholds, options.timeout);
  }
  /// Reads the files of processes soon after their start: they may delete their files, or end.
  void polled() override {
    stacks_.follow();
    use_new_names();
  }
  void tick() override {
    view_->tick(KernelClock::now());
    actions_.tick();
    report_.output->flush();
    saver_.flush();
  }
  bool wants_stop() const override { return actions_.wants_stop(); }
  void settle() override { view_->finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    SessionInfo reported = info;
    for (std::string& note : stacks_.notes()) reported.notes.push_back(std::move(note));
    if (debuginfod_)
      for (std::string& note : debuginfod_->notes()) reported.notes.push_back(std::move(note));
    for (std::string& note : actions_.notes()) reported.notes.push_back(std::move(note));
    view_->end(reported, receipt);
    report_.output->close();
    saver_.end(reported, receipt);
  }

 private:
  void use_new_names() {
    if (stacks_.add_new_names(names_)) view_->use_names(names_);
  }

  StallViewOptions options_;
  Destination to_;
  std::unique_ptr<Debuginfod> debuginfod_;
  LiveStacks stacks_;
  Actions actions_;
  std::unique_ptr<FlameSink> drawing_;
  ReportOutput report_;
  std::unique_ptr<StallView> view_;  ///< set by begin()
  TraceSaver saver_{to_.save, &stacks_};
  Names names_;
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
  ActionOptions actions = parse_actions(actions_);
  actions.every = parse_duration(every_, "--on-every");
  actions.inherited = invocation.inherited;
  request.starts_helpers = !actions.command.empty() || debuginfod_;
  StallReporter reporter(
      {.thresholds = probe_set.options().thresholds,
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
      std::move(actions),
      {.output = output_,
       .spawned = invocation.has_program,
       .names = !no_resolve_,
       .lines = lines_,
       .sandbox = !stack_options_.no_sandbox,
       .debuginfod = debuginfod_ ? std::optional(DebuginfodOptions::current(invocation.inherited))
                                 : std::nullopt,
       .flame = flame_,
       .save = save_});
  probe_set.on_change = [&](KernelTime at) { reporter.change(at, probe_set.options()); };
  return measure(request, *kernel_.open(), probe_set, reporter);
}

}  // namespace

std::unique_ptr<Command> make_stalls_command() {
  return std::make_unique<StallsCommand>();
}

}  // namespace overdue

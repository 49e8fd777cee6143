// `overdue spans`: how long spans of each kind take, by name, without a threshold.
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/event_finder.h"
#include "live/live_stacks.h"
#include "live/naming_listener.h"
#include "live/span_list.h"
#include "live/stall_probe_set.h"
#include "report/spans/view.h"
#include "report/syscalls/view_options.h"
#include "sinks/make_sink.h"
#include "sinks/output.h"
#include "source/measure.h"

namespace overdue {
namespace {

class SpansReport final : public MeasureListener {
 public:
  /// `output` and `stacks` must outlive this object.
  SpansReport(SpanViewOptions view, const OutputOptions& output, bool spawned, StackNamer& stacks)
      : options_(std::move(view)), output_(output), spawned_(spawned), stacks_(stacks) {}

  void begin(const SessionInfo& info) override {
    report_ = open_report(output_, spawned_, output_.interval.has_value());
    view_ = std::make_unique<SpanView>(options_, stacks_, *report_.sink);
    view_->begin(info);
  }
  void record(const Record& record) override { view_->record(record); }
  void interval(const SessionInfo& info, Duration wall) override {
    view_->interval(info, wall);
    report_.output->flush();
  }
  void tick() override { view_->tick(KernelClock::now()); }
  void settle() override { view_->finish(); }
  void end(const SessionInfo& info, const Receipt& receipt) override {
    view_->end(info, receipt);
    report_.output->close();
  }

 private:
  SpanViewOptions options_;
  const OutputOptions& output_;
  bool spawned_;
  StackNamer& stacks_;
  ReportOutput report_;
  std::unique_ptr<SpanView> view_;  ///< set by begin()
};

class SpansCommand final : public Command {
 public:
  std::string_view name() const override { return "spans"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, true);
    app.add_option("--span", spans_)->allow_extra_args(false)->take_all();
    app.add_option("--by", by_)->check(CLI::IsMember({"thread"}));
    app.add_option("--sort", view_.sort);
    app.add_option("--top", view_.top);
    app.add_flag("--hist", view_.histograms);
    app.add_flag("--list", list_);
    app.add_option("--save", save_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  std::vector<std::string> spans() const {
    return spans_.empty() ? std::vector<std::string>{"all"} : spans_;
  }
  StallOptions options() const;
  SpanViewOptions view(const StallOptions& options, std::vector<std::uint32_t> cpus) const;

  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  OutputOptions output_;
  std::vector<std::string> spans_;
  std::string by_;
  ViewOptions view_;
  bool list_ = false;
  std::string save_;
  std::optional<std::string> buffer_;
};

/// Prints each name that --span knows, a line each, and why it cannot be measured.
void list_all(const std::vector<SpanEntry>& entries) {
  Output output(STDOUT_FILENO);
  for (const SpanEntry& entry : entries) {
    output.append(fmt::format("{:<14} {:<3}  {}", entry.name, entry.missing.empty() ? "yes" : "no",
                              entry.sentence));
    if (!entry.needs.empty()) output.append(fmt::format("; needs {}", entry.needs));
    if (!entry.missing.empty()) output.append(fmt::format(" [{}]", entry.missing));
    output.append("\n");
  }
  output.flush();
}

StallOptions SpansCommand::options() const {
  StallOptions options;
  options.purpose = "measure spans";
  options.spans = parse_spans(spans());
  if (options.spans.is_optional(SPAN_SYSCALL)) std::erase(options.spans.kinds, SPAN_SYSCALL);
  if (options.spans.has(SPAN_SYSCALL))
    throw Error("system calls have a command of their own").hint("overdue syscalls").exit_status(2);
  options.thresholds = parse_thresholds({"1ns"});  // every span
  options.explains = false;
  options.span_sums = true;
  options.sums_by_thread = !by_.empty();
  options.user_stack_bytes = 0;
  options.ring_bytes = buffer_ ? parse_buffer_size(*buffer_) : 0;
  return options;
}

SpanViewOptions SpansCommand::view(const StallOptions& options,
                                   std::vector<std::uint32_t> cpus) const {
  SpanViewOptions view{.kinds = options.spans.kinds,
                       .cpus = std::move(cpus),
                       .by_thread = !by_.empty(),
                       .sort = view_.sort_column(),
                       .top = view_.row_limit(),
                       .histograms = view_.histograms};
  view.check();
  return view;
}

int SpansCommand::run(const Invocation& invocation) {
  if (list_) {
    target_.command = invocation.program;
    if (!target_.chooses_threads() && !invocation.has_program) target_.all = true;
    list_all(list_spans(*kernel_.open(), parse_target(target_), !stack_options_.no_sandbox));
    return 0;
  }
  check_program(invocation, "overdue spans --span block -- make");
  check_sink_format(output_.format);
  StallOptions wanted = options();
  MeasureRequest request = request_of_target("spans", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  request.thresholds = {"1ns"};
  request.spans = spans();
  wanted.whole_machine = request.selection.kind == TargetKind::all;
  prepare_user_spans(wanted, request.selection, !stack_options_.no_sandbox);
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox});
  SpansReport report(view(wanted, request.selection.cpus), output_, invocation.has_program, stacks);
  NamingListener listener(report, stacks, save_);
  StallProbeSet probe_set(std::move(wanted));
  return measure(request, *kernel_.open(), probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_spans_command() {
  return std::make_unique<SpansCommand>();
}

}  // namespace overdue

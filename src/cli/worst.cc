// `overdue worst`: the single worst latency of a kind, with what led to it.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "cli/worst_hwlat.h"
#include "kernel/features.h"
#include "kernel/preemption.h"
#include "live/live_stacks.h"
#include "live/naming_listener.h"
#include "live/worst_kernel.h"
#include "live/worst_probe_set.h"
#include "report/worst/view.h"
#include "resolve/kernel_stacks.h"
#include "sinks/make_sink.h"
#include "sinks/text_format.h"
#include "source/measure.h"
#include "source/run_session.h"
#include "source/trace_saver.h"
#include "target/cpu_list.h"

namespace overdue {
namespace {

/// Adds a note if the window of the longest latency did not come.
void note_what_is_lost(std::uint64_t longest_ns, const WorstView& view, Duration threshold,
                       SessionInfo& info) {
  if (longest_ns <= view.longest_ns() || longest_ns < static_cast<std::uint64_t>(threshold.count()))
    return;
  info.notes.push_back(
      fmt::format("the longest, {}, is not shown: there was no room for what is known of it",
                  duration_text(longest_ns)));
}

constexpr std::array<worst_tracer, 6> tracers = {WORST_WAKEUP,     WORST_WAKEUP_RT,
                                                 WORST_WAKEUP_DL,  WORST_IRQSOFF,
                                                 WORST_PREEMPTOFF, WORST_PREEMPTIRQSOFF};

worst_tracer parse_tracer(const std::string& name) {
  std::vector<std::string_view> names;
  for (const worst_tracer tracer : tracers) {
    if (name == tracer_name(tracer)) return tracer;
    names.push_back(tracer_name(tracer));
  }
  names.emplace_back("hwlat");
  const std::string_view close = nearest(name, names);
  throw Error("unknown latency '{}'", printable(name))
      .hint(close.empty() ? "overdue worst wakeup, wakeup_rt, wakeup_dl, hwlat"
                          : fmt::format("did you mean {}?", close))
      .exit_status(2);
}

class WorstCommand final : public Command {
 public:
  std::string_view name() const override { return "worst"; }

  void add_options(CLI::App& app) override {
    app.add_option("latency", what_)->required();
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_options_);
    add_output_options(app, output_, false);
    app.add_option("-T,--threshold", threshold_);
    app.add_option("--keep", keep_);
    app.add_option("--save", save_);
    app.add_flag("--events", events_);
    app.add_flag("--functions", functions_);
    app.add_flag("--graph", graph_);
    app.add_option("--width", width_);
    app.add_option("--window", window_);
    app.add_option("--backend", backend_)->check(CLI::IsMember({"auto", "kernel", "bpf"}));
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  WorstOptions options() const;
  bool names_nobody() const;
  bool uses_kernel_tracer(const Invocation& invocation) const;
  /// For the kernel's tracer, which tracks the whole machine and keeps one latency. Throws Error.
  KernelTracerRequest kernel_request() const;
  HwlatRequest hwlat_request(const Invocation& invocation) const;

  std::string what_;
  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_options_;
  std::unique_ptr<Kernel> kernel_;  ///< set by run()
  OutputOptions output_;
  std::string threshold_;
  std::optional<std::int64_t> keep_;
  std::string save_;
  bool events_ = false, functions_ = false, graph_ = false;
  std::optional<std::string> width_, window_;
  std::string backend_ = "auto";
};

WorstOptions WorstCommand::options() const {
  WorstOptions options;
  options.tracer = parse_tracer(what_);
  options.events = events_;
  if (events_ && !is_exact(options.tracer))
    throw Error(
        "where interrupts or preemption were disabled since is not known: what happened "
        "meanwhile cannot be shown")
        .hint("leave --events out, or use --backend kernel where the kernel has the tracer")
        .exit_status(2);
  if (functions_ || graph_)
    throw Error("which functions ran is known to the kernel's own tracers only")
        .hint(fmt::format("leave {} out, or use --backend kernel where the kernel has the tracer",
                          graph_ ? "--graph" : "--functions"))
        .exit_status(2);
  if (!threshold_.empty()) {
    options.threshold = parse_duration(threshold_, "--threshold");
    if (options.threshold == Duration(0))
      throw Error("a threshold of 0 would keep every one").hint("-T 100us").exit_status(2);
  }
  const std::int64_t keep = keep_.value_or(threshold_.empty() ? 1 : 0);
  if (keep_ && (keep < 1 || keep > static_cast<std::int64_t>(worst_kept_at_most)))
    throw Error("--keep {}: not a number of latencies to keep", keep)
        .hint(fmt::format("--keep 5; at most {}", worst_kept_at_most))
        .exit_status(2);
  options.keep = static_cast<std::uint64_t>(keep);
  return options;
}

bool WorstCommand::names_nobody() const {
  TargetOptions named = target_;
  named.all = false;
  return named.is_empty();
}

/// By default if the kernel's tracer knows the latency, BPF only a lower bound, and the tracer can
/// do all that is requested.
bool WorstCommand::uses_kernel_tracer(const Invocation& invocation) const {
  if (backend_ != "auto") return backend_ == "kernel";
  if (functions_ || graph_) return true;
  return !is_exact(parse_tracer(what_)) && !invocation.has_program && names_nobody() &&
         threshold_.empty() && keep_.value_or(1) == 1 && kernel_->tracer(what_).yes;
}

KernelTracerRequest WorstCommand::kernel_request() const {
  const worst_tracer tracer = parse_tracer(what_);
  if (!names_nobody())
    throw Error("the kernel's tracers know no target: they follow the whole machine")
        .hint("leave the target out, or use --backend bpf")
        .exit_status(2);
  if (!threshold_.empty())
    throw Error("a threshold of the kernel's tracers is one for all of them, and not ours to set")
        .hint("leave -T out, or use --backend bpf")
        .exit_status(2);
  if (keep_.value_or(1) != 1)
    throw Error("the kernel's tracers keep one latency, the longest")
        .hint("leave --keep out, or use --backend bpf")
        .exit_status(2);
  if (graph_ && !is_exact(tracer))
    throw Error("in a tracing instance the kernel's tracer {} knows functions, but no graph", what_)
        .hint("--functions")
        .exit_status(2);
  if (functions_ || graph_) require_support("tell which functions ran", kernel_->tracer(what_));
  return {.tracer = what_,
          .events = events_,
          .functions = graph_       ? TracedFunctions::graph
                       : functions_ ? TracedFunctions::entries
                                    : TracedFunctions::none};
}

HwlatRequest WorstCommand::hwlat_request(const Invocation& invocation) const {
  const auto refuse = [](const std::string& what, const std::string& hint) {
    throw Error("{}", what).hint(std::string(hint)).exit_status(2);
  };
  TargetOptions others = target_;
  others.cpus.reset();
  if (invocation.has_program || !(others.is_empty() || others.all))
    refuse("hardware has no target", "--cpu says where it is looked for");
  for (const auto& [given, option] : {std::pair{keep_.has_value(), "--keep"},
                                      {events_, "--events"},
                                      {functions_, "--functions"},
                                      {graph_, "--graph"}})
    if (given) refuse(fmt::format("{} is not for hwlat", option), "leave it out");
  const bool has_settings = target_.cpus || width_ || window_ || !threshold_.empty();
  HwlatRequest request;
  request.plan.by_kernel =
      backend_ == "kernel" || (backend_ == "auto" && !has_settings && kernel_->tracer("hwlat").yes);
  if (request.plan.by_kernel && has_settings)
    refuse("the settings of the kernel's hwlat are one for all, and not ours to change",
           "leave --cpu, -T, --width and --window out, or use --backend bpf");
  request.cpus = target_.cpus ? parse_cpu_list(*target_.cpus, possible_cpus()) : online_cpus();
  request.cpus_text = target_.cpus.value_or("");
  if (!threshold_.empty()) request.plan.threshold = parse_duration(threshold_, "--threshold");
  if (width_) request.plan.width = parse_duration(*width_, "--width");
  if (window_) request.plan.window = parse_duration(*window_, "--window");
  check(request.plan);
  request.duration = stop_.parsed();
  request.output = output_;
  request.save = save_;
  return request;
}

int WorstCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue worst wakeup_rt -- cyclictest");
  check_sink_format(output_.format);
  kernel_ = kernel_options_.open();
  if (what_ == "hwlat") return run_hwlat(hwlat_request(invocation), *kernel_);
  if (width_ || window_)
    throw Error("{} is for hwlat", width_ ? "--width" : "--window").exit_status(2);
  if (uses_kernel_tracer(invocation)) {
    LatencyTracer tracer(kernel_request(), *kernel_);
    KernelStacks stacks;
    WorstView view({}, output_, invocation.has_program, stacks);
    SavingListener saving(view, save_, &stacks);
    RunRequest run;
    run.program = invocation.program;
    run.spawn = {.user = target_.user, .inherited = invocation.inherited};
    run.duration = stop_.parsed();
    run.quiet = output_.quiet;
    return run_session(run, tracer, saving);
  }
  WorstOptions wanted = options();
  target_.command = invocation.program;
  if (target_.is_empty()) target_.all = true;
  MeasureRequest request = request_of_target("worst", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  wanted.whole_machine = request.selection.kind == TargetKind::all;
  request.streams = wanted.keep == 0;
  if (!threshold_.empty()) request.thresholds = {threshold_};
  request.spans = {what_};
  std::unique_ptr<WindowProbeSet> probe_set;
  if (is_exact(wanted.tracer))
    probe_set = std::make_unique<WorstProbeSet>(wanted);
  else
    probe_set = std::make_unique<SectionProbeSet>(wanted);
  const WorstPlan plan{.keep = wanted.keep, .preemption = read_preemption()};
  request.options = kept_options(plan);
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox});
  WorstView view(plan, output_, invocation.has_program, stacks,
                 [&](std::uint64_t ns) { probe_set->raise_bar(ns); });
  NamingListener naming(view, stacks, save_, [&](SessionInfo& info) {
    note_what_is_lost(probe_set->longest_ns(), view, wanted.threshold, info);
  });
  return measure(request, *kernel_, *probe_set, naming);
}

}  // namespace

std::unique_ptr<Command> make_worst_command() {
  return std::make_unique<WorstCommand>();
}

}  // namespace overdue

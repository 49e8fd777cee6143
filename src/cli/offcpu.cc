// `overdue offcpu`: how long threads are off the CPU, why, and which threads displaced them.
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "kernel/run_queues.h"
#include "live/naming_listener.h"
#include "live/offcpu_probe_set.h"
#include "live/stall_probe_set.h"
#include "report/offcpu/stacks_view.h"
#include "report/offcpu/trace.h"
#include "report/offcpu/view.h"
#include "report/run_queues/run_queues.h"
#include "sinks/json_members.h"
#include "sinks/make_sink.h"
#include "source/measure.h"
#include "target/cpu_list.h"
#include "target/kernel_threads.h"
#include "target/own_rights.h"

namespace overdue {
namespace {

class OffcpuCommand final : public Command {
 public:
  std::string_view name() const override { return "offcpu"; }

  void add_options(CLI::App& app) override {
    app_ = &app;
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, true);
    by_option_ = app.add_option("--by", by_);
    app.add_flag("--max", plan_.show.lines);
    app.add_flag("--runnable-only", plan_.runnable_only);
    sort_ = app.add_option("--sort", plan_.sort);
    app.add_option("--top", top_);
    app.add_option("--save", save_);
    app.add_option("--from-trace", trace_);
    app.add_flag("--run-queues", run_queues_);
    correlate_ = app.add_option("--correlate")->check(CLI::IsMember({"net"}));
    app.add_option("--flame", flame_);
    app.add_option("--stacks-over", stacks_over_);
    app.add_flag("--waker", plan_.draws_wakers);
    app.add_flag("--on-cpu", plan_.draws_oncpu);
    add_stack_options(app, stack_options_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  void check() const;
  void check_stacks() const;
  bool draws() const { return !flame_.empty() || is_of_stacks(output_.format); }
  bool wants_stacks() const { return draws() || by_ == "stack"; }
  OffcpuPlan plan(bool spawned) const;
  int read_trace(const Invocation& invocation);
  int list_run_queues(const Invocation& invocation) const;
  int measure_stacks(const MeasureRequest& request, const Kernel& kernel, const OffcpuPlan& plan,
                     OffcpuView& view);

  TargetOptions target_;
  StopOptions stop_;
  KernelOptions kernel_;
  OutputOptions output_;
  std::string by_ = "thread";
  OffcpuPlan plan_;
  std::optional<std::size_t> top_;
  const CLI::Option *by_option_ = nullptr, *sort_ = nullptr, *correlate_ = nullptr;
  std::string save_, trace_, flame_;
  std::optional<std::string> stacks_over_;
  bool run_queues_ = false;
  const CLI::App* app_ = nullptr;  ///< counts the given options
  StackOptions stack_options_;
};

/// No given option may be ignored in silence.
void OffcpuCommand::check_stacks() const {
  if (stacks_over_ && !wants_stacks())
    throw Error("--stacks-over is for the stacks of --flame and --by stack")
        .hint("add --by stack")
        .exit_status(2);
  if (plan_.draws_wakers && !draws())
    throw Error("--waker is for drawings: --flame FILE, -f folded, svg, speedscope, pprof")
        .hint("--by stack has the wakers in its rows")
        .exit_status(2);
  if (plan_.draws_oncpu && !draws())
    throw Error("--on-cpu is for drawings: --flame FILE, -f folded, svg, speedscope, pprof")
        .hint("the tables have the time on the CPU in a column")
        .exit_status(2);
  const bool of_stacks = by_ == "stack" || is_of_stacks(output_.format);
  if (of_stacks && output_.interval)
    throw Error("--by stack and drawings have no intervals")
        .hint("the table is of the whole session")
        .exit_status(2);
  if (is_of_stacks(output_.format) && top_)
    throw Error("-f {} has all stacks, and no --top", output_.format).exit_status(2);
  if ((of_stacks || by_ == "cpu") && (plan_.runnable_only || sort_->count() > 0))
    throw Error("--by {} has no --runnable-only and no --sort", of_stacks ? "stack" : by_)
        .hint(by_ == "cpu" ? "CPUs stand in their order" : "the longest time stands first")
        .exit_status(2);
}

void OffcpuCommand::check() const {
  if (correlate_->count() > 0 && wants_stacks())
    throw Error("--correlate and {} do not go together", by_ == "stack"    ? "--by stack"
                                                         : !flame_.empty() ? "--flame"
                                                                           : "-f " + output_.format)
        .hint("measure the stacks by themselves")
        .exit_status(2);
  plan_.check();
  check_sink_or_flame_format(output_.format);
  if (output_.format == "json" && output_.interval)
    throw Error("-f json and --interval do not go together")
        .hint("use -f ndjson: one JSON object a line")
        .exit_status(2);
  if (plan_.show.lines && (!output_.interval || output_.format != "text"))
    throw Error("--max prints a line for each thread at the end of each interval, as text")
        .hint("add -i 1s; -f ndjson has max_ns without --max")
        .exit_status(2);
  if (plan_.show.lines && (by_ == "displacer" || by_ == "cpu"))
    throw Error("--max and --by {} do not go together", by_).exit_status(2);
  check_stacks();
}

OffcpuPlan OffcpuCommand::plan(bool spawned) const {
  OffcpuPlan plan = plan_;
  plan.spawned = spawned;
  if (is_of_stacks(output_.format))
    choose_stacks(plan.show, output_.format, by_option_->count() > 0 ? by_ : "");
  else
    choose_rows(plan.show, by_);
  plan.show.top = top_.value_or(plan.show.table == OffcpuTableOf::stacks ? 10 : 40);
  plan.has_net = correlate_->count() > 0;
  plan.has_cpus = plan.show.table == OffcpuTableOf::cpus;
  if (wants_stacks())
    plan.stacks_over =
        std::max(parse_duration(stacks_over_.value_or("1ms"), "--stacks-over"), Duration(1));
  return plan;
}

/// A list of the present moment; nothing is measured.
int OffcpuCommand::list_run_queues(const Invocation& invocation) const {
  constexpr std::string_view taken[] = {"--run-queues", "--all",    "--cpu",    "--format",
                                        "--output",     "--stdout", "--options"};
  for (const CLI::Option* const option : app_->get_options())
    if (option->count() > 0 && std::ranges::find(taken, option->get_name()) == std::end(taken))
      throw Error("--run-queues and {} do not go together", option->get_name())
          .hint("--cpu LIST chooses CPUs; -a lists threads that sleep too")
          .exit_status(2);
  if (invocation.has_program)
    throw Error("--run-queues starts no program").hint("leave -- out").exit_status(2);
  if (output_.format != "text" && output_.format != "json")
    throw Error("--run-queues has no format '{}'", printable(output_.format))
        .hint("-f text, json")
        .exit_status(2);
  std::vector<std::uint32_t> cpus;
  if (target_.cpus) cpus = parse_cpu_list(*target_.cpus, possible_cpus());
  RunQueues queues = run_queues_of(queued_tasks(target_.all), cpus, static_cast<u32>(getpid()));
  queues.time = std::chrono::system_clock::now();
  queues.full_names = kernel_thread_names();
  const std::unique_ptr<Output> output = open_output(output_, false);
  output->append(output_.format == "text"
                     ? run_queues_text(queues)
                     : json_document([&](Members& member) { describe(member, queues); }));
  output->close();
  return 0;
}

/// Reads a file of the caller's, with the caller's rights alone.
int OffcpuCommand::read_trace(const Invocation& invocation) {
  if (invocation.has_program || target_.chooses_threads() || !save_.empty() || stop_.duration ||
      draws())
    throw Error("--from-trace takes no target, no --duration, no --save, no --flame and no -f {}",
                is_of_stacks(output_.format) ? output_.format : "folded")
        .hint("--cpu LIST chooses the CPUs of the trace")
        .exit_status(2);
  if (correlate_->count() > 0)
    throw Error("--from-trace has no sockets").hint("leave --correlate out").exit_status(2);
  if (by_ == "cgroup" || by_ == "parent" || by_ == "stack" || by_ == "cpu")
    throw Error("--from-trace has no rows by {}", by_).hint("--by name").exit_status(2);
  drop_rights(Rights::caller, choose_identity(IdentityRequest::current(std::nullopt)));
  const Fd file(trace_ == "-" ? dup(STDIN_FILENO)
                              : open(trace_.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file) throw Error("cannot open the trace {}: {}", printable(trace_), errno_text(errno));
  SwitchReplay replay{.name = trace_, .interval = output_.parsed_interval()};
  if (target_.cpus) replay.cpus = parse_cpu_list(*target_.cpus, cpus_of_any_machine());
  OffcpuView view(plan(false), output_);
  replay_switches(file, replay, view);
  return 0;
}

/// Waits of --stacks-over and longer have a record with their stacks.
int OffcpuCommand::measure_stacks(const MeasureRequest& request, const Kernel& kernel,
                                  const OffcpuPlan& plan, OffcpuView& view) {
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox});
  StallOptions options;
  options.purpose = "measure time off the CPU";
  options.spans = parse_spans({"offcpu"});
  options.thresholds.general = plan.stacks_over;
  options.explains = false;
  options.totals = true;
  options.cpu_totals = plan.has_cpus;
  options.profiles = plan.draws_oncpu;
  options.whole_machine = request.selection.kind == TargetKind::all;
  StallProbeSet probe_set(std::move(options));
  OffcpuStacksView with_stacks(view, stacks, plan, flame_);
  NamingListener listener(with_stacks, stacks, save_);
  return measure(request, kernel, probe_set, listener);
}

int OffcpuCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue offcpu -- make");
  if (run_queues_) return list_run_queues(invocation);
  check();
  if (!trace_.empty()) return read_trace(invocation);
  const OffcpuPlan plan = this->plan(invocation.has_program);
  MeasureRequest request = request_of_target("offcpu", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  request.options = kept_options(plan);
  request.by_container = plan.show.by == Whose::cgroup || !save_.empty();
  OffcpuView view(plan, output_);
  const std::unique_ptr<Kernel> kernel = kernel_.open();
  if (wants_stacks()) return measure_stacks(request, *kernel, plan, view);
  OffcpuProbeSet probe_set(
      {.idle = plan.show.lines && target_.all, .cpus = plan.has_cpus, .sockets = plan.has_net});
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox});
  NamingListener listener(view, stacks, save_);
  listener.use_names_only();
  return measure(request, *kernel, probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_offcpu_command() {
  return std::make_unique<OffcpuCommand>();
}

}  // namespace overdue

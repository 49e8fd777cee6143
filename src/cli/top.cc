// `overdue top`: the analysis of `overdue why`, live on a terminal.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/naming_listener.h"
#include "live/why_probes.h"
#include "source/measure.h"
#include "top/terminal_type.h"
#include "top/view.h"

namespace overdue {
namespace {

constexpr Duration default_interval = std::chrono::seconds(1);

class TopCommand final : public Command {
 public:
  std::string_view name() const override { return "top"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    app.add_option("-i,--interval", output_.interval);
  }

  int run(const Invocation& invocation) override;

 private:
  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  OutputOptions output_;
};

int TopCommand::run(const Invocation& invocation) {
  if (!target_.chooses_threads()) target_.all = true;
  MeasureRequest request = request_of_target("top", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  if (!request.interval) request.interval = default_interval;
  request.streams = true;
  require_terminal();
  const auto kernel = kernel_.open();
  const WhyPlan plan{.cpus = request.selection.cpus,
                     .sees_unix_questions = sees_unix_questions(*kernel)};
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox, .many_stacks = true});
  TopView view(plan, stacks, *request.interval);
  const Surroundings surroundings;
  const auto complete = [&](SessionInfo& info) { surroundings.look(view.analysis(), info); };
  view.set_complete(complete);
  NamingListener listener(view, stacks, "", complete);
  StallProbeSet probe_set(why_probes(plan, request.selection.kind == TargetKind::all));
  return measure(request, *kernel, probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_top_command() {
  return std::make_unique<TopCommand>();
}

}  // namespace overdue

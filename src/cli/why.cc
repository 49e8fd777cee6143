// `overdue why`: the causes of late time on one page, without a threshold.
#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/naming_listener.h"
#include "live/why_probes.h"
#include "report/why/view.h"
#include "sinks/make_sink.h"
#include "source/measure.h"

namespace overdue {
namespace {

constexpr Duration default_duration = std::chrono::seconds(10);

class WhyCommand final : public Command {
 public:
  std::string_view name() const override { return "why"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, false);
    app.add_option("--by", by_);
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
  std::string by_ = "group";
  std::uint32_t top_ = 0;
  std::string save_;
};

int WhyCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue why -- make");
  check_sink_format(output_.format);
  MeasureRequest request = request_of_target("why", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  request.selection.present_children = true;
  if (!request.duration && !invocation.has_program) request.duration = default_duration;
  WhyPlan plan{.cpus = request.selection.cpus, .top = top_, .spawned = invocation.has_program};
  const auto kernel = kernel_.open();
  plan.sees_unix_questions = sees_unix_questions(*kernel);
  choose_rows(plan, by_);
  request.options = kept_options(plan);
  request.by_container = plan.by == Whose::cgroup || !save_.empty();
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox, .many_stacks = true});
  WhyView view(plan, output_, stacks);
  const Surroundings surroundings;
  NamingListener listener(view, stacks, save_,
                          [&](SessionInfo& info) { surroundings.look(view.analysis(), info); });
  StallProbeSet probe_set(why_probes(plan, request.selection.kind == TargetKind::all));
  return measure(request, *kernel, probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_why_command() {
  return std::make_unique<WhyCommand>();
}

}  // namespace overdue

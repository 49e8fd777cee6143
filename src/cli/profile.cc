// `overdue profile`: where CPU time is spent, by function and named thread.
#include <CLI/CLI.hpp>

#include "base/error.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/measure_request.h"
#include "cli/options.h"
#include "live/naming_listener.h"
#include "live/profile_probe_set.h"
#include "report/profile/view.h"
#include "report/syscalls/view_options.h"
#include "source/measure.h"

namespace overdue {
namespace {

class ProfileCommand final : public Command {
 public:
  std::string_view name() const override { return "profile"; }

  void add_options(CLI::App& app) override {
    add_target_options(app, target_);
    add_stop_options(app, stop_);
    add_stack_options(app, stack_options_);
    add_kernel_options(app, kernel_);
    add_output_options(app, output_, true);
    app.add_option("--event", event_);
    app.add_option("-F,--frequency", rate_hz_)->check(CLI::Range(1u, 999u));
    app.add_option("--by", by_);
    app.add_option("--top", view_.top);
    app.add_option("--user-stack-bytes", user_stack_);
    app.add_option("--flame", flame_);
    app.add_option("--save", save_);
    app.add_option("--buffer", buffer_);
  }

  int run(const Invocation& invocation) override;
  bool spawns(const Invocation& invocation) const override { return invocation.has_program; }

 private:
  TargetOptions target_;
  StopOptions stop_;
  StackOptions stack_options_;
  KernelOptions kernel_;
  OutputOptions output_;
  std::string event_ = "cpu-clock";
  std::uint32_t rate_hz_ = 99;
  std::string by_;
  ViewOptions view_;
  std::uint32_t user_stack_ = 16 << 10;
  std::string flame_;
  std::string save_;
  std::optional<std::string> buffer_;
};

int ProfileCommand::run(const Invocation& invocation) {
  check_program(invocation, "overdue profile -- make");
  check_sink_or_flame_format(output_.format);
  check_profile_intervals(output_);
  check_user_stack(user_stack_);
  const std::optional<profile_event> event = profile_event_named(event_);
  if (!event)
    throw Error("unknown event '{}' for --event", printable(event_))
        .hint("cpu-clock or cycles")
        .exit_status(2);
  ProfilePlan plan{.event = *event, .rate_hz = rate_hz_, .top = view_.row_limit(), .flame = flame_};
  if (!by_.empty()) choose_rows(plan, by_);
  MeasureRequest request = request_of_target("profile", invocation, target_, stop_, output_);
  request.notes = asked_jvms(stack_options_, request.selection);
  request.options = kept_options(plan);
  request.by_container = plan.by == Whose::cgroup || !save_.empty();
  LiveStacks stacks({.sandbox = !stack_options_.no_sandbox, .many_stacks = true});
  ProfileView view(plan, output_, invocation.has_program, stacks);
  NamingListener listener(view, stacks, save_);
  ProfileProbeSet probe_set({.event = *event, .rate_hz = rate_hz_, .user_stack_bytes = user_stack_},
                            buffer_ ? parse_buffer_size(*buffer_) : default_ring_bytes());
  return measure(request, *kernel_.open(), probe_set, listener);
}

}  // namespace

std::unique_ptr<Command> make_profile_command() {
  return std::make_unique<ProfileCommand>();
}

}  // namespace overdue

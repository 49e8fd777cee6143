// `overdue doctor`: what this kernel allows, and what would change each "no".
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "cli/command.h"
#include "cli/options.h"
#include "probes/syscalls/probe.h"
#include "report/doctor/doctor.h"

namespace overdue {
namespace {

/// Attaches the default probe for a few milliseconds, and measures no process but Overdue.
std::optional<Calibration> calibrate_syscalls() {
  const std::vector<double> base_ns = time_getppid();
  Session session(MembershipRules{}, 0);
  session.add(std::make_unique<SyscallsProbe>(SyscallsOptions{}, session.membership().maps()));
  return session.calibrate(base_ns);
}

class DoctorCommand final : public Command {
 public:
  std::string_view name() const override { return "doctor"; }
  void add_options(CLI::App& app) override {
    app.add_option("-f,--format", options_.format)->check(CLI::IsMember({"text", "json"}));
    app.add_flag("--no-calibrate", no_calibrate_);
    app.add_flag("-v,--verbose", options_.verbose);
    add_kernel_options(app, kernel_);
  }
  int run(const Invocation&) override {
    options_.calibrate = !no_calibrate_;
    Output output(STDOUT_FILENO);
    return run_doctor(options_, *kernel_.open(), planned_commands, calibrate_syscalls, output);
  }

 private:
  DoctorOptions options_;
  KernelOptions kernel_;
  bool no_calibrate_ = false;
};

}  // namespace

std::unique_ptr<Command> make_doctor_command() {
  return std::make_unique<DoctorCommand>();
}

}  // namespace overdue

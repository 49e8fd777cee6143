#include "report/doctor/doctor.h"

#include <filesystem>

#include "base/error.h"
#include "base/read_text.h"
#include "kernel/tested_kernels.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

constexpr Capability of_interest[] = {
    Capability::bpf,    Capability::perfmon,   Capability::sys_ptrace, Capability::dac_read_search,
    Capability::syslog, Capability::sys_admin,
};

/// Number of files with names of code that processes generate: /tmp/perf-PID.map.
std::size_t count_perf_maps() {
  std::size_t count = 0;
  std::error_code error;
  for (std::filesystem::directory_iterator each("/tmp", error), end; !error && each != end;
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.starts_with("perf-") && name.ends_with(".map")) ++count;
  }
  return count;
}

Diagnosis diagnose(const Kernel& kernel, std::span<const std::string_view> planned) {
  Diagnosis found;
  found.host = read_host();
  found.lockdown = kernel.lockdown();
  found.preempt_rt = kernel.preempt_rt();
  found.tested = is_tested_kernel(found.host.kernel, found.preempt_rt);
  found.unprivileged_bpf_disabled = kernel.unprivileged_bpf_disabled();
  found.cgroups = kernel.cgroup_layout();
  if (const auto path = kernel.tracefs_path()) found.tracefs = path->string();
  found.tracefs_private = kernel.tracefs_is_private();
  found.clocksource = read_word("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  found.clock_read_ns = clock_read_cost_ns();
  for (const Capability capability : of_interest)
    if (kernel.capabilities().has(capability))
      found.capabilities.push_back(capability_name(capability));
  found.commands = find_commands(kernel, planned);
  for (const Facility& facility : facilities())
    found.facilities.push_back({facility.name, facility.summary, (kernel.*facility.ask)()});
  found.traps = find_traps(kernel, found);
  found.real_time = real_time_limit();
  found.perf_maps = count_perf_maps();
  std::error_code ignored;
  found.has_debug_files = std::filesystem::exists("/usr/lib/debug/.build-id", ignored);
  return found;
}

void calibrate_if_possible(Diagnosis& found, const DoctorOptions& options,
                           const Calibrate& calibrate) {
  if (!options.calibrate) {
    found.no_calibration = "not asked for (--no-calibrate)";
  } else if (found.command("syscalls").availability == Availability::not_here) {
    found.no_calibration = found.command("syscalls").native.missing;
  } else {
    try {
      if (calibrate) found.calibration = calibrate();
      if (!found.calibration) found.no_calibration = "this build does not calibrate";
    } catch (const Error& error) {
      // A kernel that refuses Overdue's probes is a finding, and the most important one.
      found.no_calibration = error.what();
      for (CommandFinding& command : found.commands)
        if (command.name == "syscalls") {
          command.availability = Availability::not_here;
          command.native = Support::no(error.what(),
                                       error.hint().empty() ? "overdue syscalls -v" : error.hint());
        }
    }
  }
}

}  // namespace

int run_doctor(const DoctorOptions& options, const Kernel& kernel,
               std::span<const std::string_view> planned, const Calibrate& calibrate,
               Output& output) {
  Diagnosis found = diagnose(kernel, planned);
  calibrate_if_possible(found, options, calibrate);
  output.append(options.format == "json" ? doctor_json(found)
                                         : doctor_text(found, options.verbose));
  output.flush();
  return found.command("syscalls").availability == Availability::natively ? 0 : 1;
}

}  // namespace overdue

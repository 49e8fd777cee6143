// The report of `overdue doctor` as JSON.
#include <cmath>
#include <string>

#include "core/members.h"
#include "report/doctor/findings.h"
#include "sinks/json_members.h"

namespace overdue {
namespace {

std::uint64_t rounded(double ns) {
  return static_cast<std::uint64_t>(std::llround(ns));
}

/// What is missing, and the remedy; nothing if nothing is.
void describe_refusal(Members& member, const Support& support) {
  member("missing", when(!support.yes, support.missing));
  member("remedy", when(!support.yes, support.remedy));
}

/// A text that is null if it is empty.
void describe_text(Members& member, std::string_view key, const std::string& text,
                   std::string_view help = {}) {
  member(key, or_null(text.empty() ? nullptr : &text), {.help = help});
}

void describe_environment(Members& member, const Diagnosis& found) {
  member("build", found.host.build, {.help = "build of the kernel"});
  member("boot_id", found.host.boot_id);
  member("virtualisation", found.host.virtualisation);
  describe_text(member, "container", found.host.container, "null: no container is detected");
  member("cpus_online", found.host.online_cpus);
  member("cpus_possible", found.host.possible_cpus);
  member("lockdown", found.lockdown);
  member("preempt_rt", found.preempt_rt);
  member("tested", found.tested, {.help = "Overdue's tests run on kernels of this series"});
  member("unprivileged_bpf_disabled", or_null(found.unprivileged_bpf_disabled));
  member("capabilities", found.capabilities, {.help = "Overdue's own, as far as they matter"});
  member("cgroups", cgroup_layout_name(found.cgroups));
  describe_text(member, "tracefs", found.tracefs_private ? std::string() : found.tracefs,
                "null: tracefs is not mounted");
  member("tracefs_private", found.tracefs_private,
         {.help = "tracefs is mounted for Overdue alone"});
  describe_text(member, "clocksource", found.clocksource);
  member("clock_read_ns", rounded(found.clock_read_ns),
         {.help = "one read of CLOCK_MONOTONIC in user space"});
}

void describe_command(Members& member, const CommandFinding& command) {
  member.type("doctor_command", "A command, or one of its measurements, on this kernel");
  member("name", command.name);
  member("in_version", command.in_version,
         {.help = "false: the command is in a later version of Overdue"});
  member("availability", availability_name(command.availability), {.choices = availability_names});
  describe_text(member, "how", command.how, "native way to measure, or the substitute");
  describe_refusal(member, command.native);
}

void describe_calibration(Members& member, const Diagnosis& found) {
  const bool is_measured = found.calibration.has_value();
  const Calibration measured = found.calibration.value_or(Calibration{});
  const auto figure = [&](std::string_view key, double ns, std::string_view help) {
    member(key, when(is_measured, rounded(ns)), {.help = help});
  };
  member("measured", is_measured);
  member("reason", when(!is_measured, found.no_calibration),
         {.help = "why there is no calibration"});
  figure("base_ns", measured.base_ns, "a getppid call without Overdue");
  figure("traced_ns", measured.traced_ns, "the same while it is measured");
  figure("bystander_ns", measured.bystander_ns, "the same while another process is measured");
  figure("cost_ns", measured.cost_ns(), "added to a measured call");
  figure("bystander_cost_ns", bystander_cost_ns(measured), "added to a call of another process");
  figure("floor_ns", static_cast<double>(floor_ns(measured)), "latencies below are not reliable");
  member("spread", when(is_measured, measured.spread),
         {.help = "of the runs without Overdue: (p75 - p25) / median"});
  member("rounds", when(is_measured, measured.rounds));
}

}  // namespace

void describe(Members& member, const FacilityFinding& facility) {
  member.type("doctor_feature", "A feature of the kernel that Overdue can use");
  member("name", facility.name, {.help = "as in --without"});
  member("summary", facility.summary);
  member("yes", facility.support.yes);
  describe_refusal(member, facility.support);
}

void describe(Members& member, const Trap& trap) {
  member.type("doctor_trap", "A property of the machine that makes results slow or wrong");
  member("name", trap.name);
  member("what", trap.what);
  member("remedy", trap.remedy);
}

void describe(Members& member, const Diagnosis& found) {
  constexpr About below{.below = true};
  member("overdue", OVERDUE_VERSION, {.help = "version of Overdue"});
  member("schema", 1U, {.help = "version of this schema"});
  member("command", "doctor");
  member.object("host", [&] {
    member("name", found.host.name);
    member("arch", found.host.arch);
    member("cpus", found.host.online_cpus);
  });
  member("kernel", found.host.kernel, {.help = "release"});
  member("works", found.works(), {.help = "overdue syscalls works natively"});
  member.object("environment", [&] { describe_environment(member, found); }, below);
  member.list(
      "commands", found.commands,
      [&](const CommandFinding& command) { describe_command(member, command); }, below);
  member("features", found.facilities, below);
  member("traps", found.traps, below);
  member.object("calibration", [&] { describe_calibration(member, found); }, below);
}

std::string doctor_json(const Diagnosis& found) {
  return json_document([&](Members& member) { describe(member, found); });
}

}  // namespace overdue

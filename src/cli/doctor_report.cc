// The two forms of the report of `overdue doctor`: text and JSON.
#include <algorithm>
#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "base/text.h"
#include "cli/doctor_findings.h"
#include "cli/help_page.h"
#include "kernel/tested_kernels.h"

namespace overdue {
namespace {

constexpr std::size_t width = 80;

std::string wrapped(std::string_view text, std::size_t indent) {
  return filled(text, width, indent);
}

/// Explains each "no" once; a later "no" with the same reason points to the first.
class Refusals {
 public:
  std::string explain(std::string_view name, const Support& support) {
    if (support.yes) return {};
    const auto [first, is_new] = explained_.emplace(support.missing + support.remedy, name);
    if (!is_new) return wrapped(fmt::format("as for {}", first->second), 6);
    return wrapped(support.missing, 6) + wrapped("-> " + support.remedy, 6);
  }

 private:
  std::map<std::string, std::string> explained_;
};

std::string labelled(std::string_view label, std::string_view text) {
  std::string line = wrapped(text.empty() ? "-" : text, 15);
  line.replace(0, 15, fmt::format("  {:<13}", label));
  return line;
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (const std::string_view word : words) text += (text.empty() ? "" : " ") + std::string(word);
  return text.empty() ? "none" : text;
}

/// Whether Overdue is tested on this kernel, and what the kernel lacks. Both decide how far the
/// rest of the report can be trusted.
std::string kernel_text(const Diagnosis& found) {
  std::string text = fmt::format("Linux {} {}{}\n", found.host.kernel, found.host.arch,
                                 found.preempt_rt ? " PREEMPT_RT" : "");
  text += labelled("tested", fmt::format("{}: Overdue's tests run on Linux {}",
                                         found.tested ? "yes" : "no", tested_kernels_text()));
  bool lacks = false;
  for (const FacilityFinding& facility : found.facilities) {
    if (facility.support.yes) continue;
    text += labelled(lacks ? "" : "lacks",
                     fmt::format("{}: {}", facility.name, facility.support.missing));
    lacks = true;
  }
  if (!lacks) text += labelled("lacks", "nothing that Overdue can use");
  return text;
}

/// The sources of function names, besides programs' own symbols.
std::string names_text(const Diagnosis& found) {
  std::string text =
      labelled("debug files", found.has_debug_files
                                  ? "in /usr/lib/debug"
                                  : "none in /usr/lib/debug; --debuginfod asks servers for them");
  const std::string maps = found.perf_maps == 0 ? std::string("none in /tmp")
                                                : fmt::format("{} in /tmp", found.perf_maps);
  text += labelled("perf maps", maps +
                                    "; they name JIT code: node --perf-basic-prof, java with "
                                    "perf-map-agent, python3 -X perf (3.12)");
  return text;
}

std::string limits_text(const Diagnosis& found) {
  const RealTimeLimit& limit = found.real_time;
  if (limit.period_ns == 0 || limit.runtime_ns >= limit.period_ns) return {};
  return labelled("real time", fmt::format("threads have {} of each {} of a CPU",
                                           format_duration(Duration(limit.runtime_ns)),
                                           format_duration(Duration(limit.period_ns))));
}

std::string environment_text(const Diagnosis& found) {
  const Host& host = found.host;
  std::string text = "\nEnvironment\n";
  text += labelled("host", printable(host.name));
  text += labelled("machine",
                   fmt::format("virtualisation {}{}; {} of {} CPUs online", host.virtualisation,
                               host.container.empty() ? "" : "; container " + host.container,
                               host.online_cpus, host.possible_cpus));
  text += labelled("lockdown", found.lockdown);
  text += labelled("capabilities", joined(found.capabilities));
  text += labelled("tracefs", found.tracefs.empty()   ? "none"
                              : found.tracefs_private ? "not mounted; a private mount is used"
                                                      : printable(found.tracefs));
  text += labelled("cgroups", cgroup_layout_name(found.cgroups));
  text += names_text(found) + limits_text(found);
  text += labelled("clock",
                   fmt::format("{}, {:.0f} ns a read",
                               found.clocksource.empty() ? "unknown" : printable(found.clocksource),
                               found.clock_read_ns));
  return text;
}

/// The commands of this version: all, or those that do not work natively.
std::string commands_text(const Diagnosis& found, Refusals& refusals, bool verbose) {
  std::string text = "\nCommands\n";
  bool all_natively = true;
  for (const CommandFinding& command : found.commands) {
    if (!command.in_version) continue;
    const bool natively = command.availability == Availability::natively;
    all_natively = all_natively && natively;
    if (natively && !verbose) continue;
    text += fmt::format("  {:<22}{}\n", command.name, availability_name(command.availability));
    if (command.availability == Availability::by_substitute)
      text += wrapped("instead: " + command.how, 6);
    text += refusals.explain(command.name, command.native);
  }
  if (!verbose) text += all_natively ? "  all work natively\n" : "  all others work natively\n";
  return text;
}

std::string facilities_text(const Diagnosis& found, Refusals& refusals) {
  std::string text = "\nFeatures (names for --without)\n";
  for (const FacilityFinding& facility : found.facilities) {
    text += fmt::format("  {:<4}{:<18}{}\n", facility.support.yes ? "yes" : "no", facility.name,
                        facility.summary);
    text += refusals.explain(facility.name, facility.support);
  }
  return text;
}

std::string traps_text(const Diagnosis& found) {
  std::string text = "\nTraps\n";
  if (found.traps.empty()) text += "  none found\n";
  for (const Trap& trap : found.traps)
    text += wrapped(trap.name + ": " + trap.what, 2) + wrapped("-> " + trap.remedy, 6);
  return text;
}

/// Below this floor, a difference between latencies is Overdue's own cost or the machine's unrest.
/// A span contains about half of the cost of a call (the end of the enter hook, the start of the
/// exit hook); the floor takes the whole cost.
std::uint64_t floor_ns(const Calibration& calibration) {
  const double unrest = calibration.base_ns * calibration.spread;
  return static_cast<std::uint64_t>(std::ceil(std::max(calibration.cost_ns(), unrest)));
}

double bystander_cost_ns(const Calibration& calibration) {
  return std::max(0.0, calibration.bystander_ns - calibration.base_ns);
}

std::string cost_text(const Diagnosis& found) {
  if (!found.calibration) return "\nCost\n" + wrapped("not measured: " + found.no_calibration, 2);
  const Calibration& measured = *found.calibration;
  return "\nCost\n" +
         wrapped(fmt::format("getppid takes {:.0f} ns here, {:.0f} ns when measured: measuring "
                             "adds {:.0f} ns a call "
                             "({} rounds, spread {:.0f} %).",
                             measured.base_ns, measured.traced_ns, measured.cost_ns(),
                             measured.rounds, measured.spread * 100),
                 2) +
         wrapped(fmt::format("A process that is not measured pays {:.0f} ns a call meanwhile.",
                             bystander_cost_ns(measured)),
                 2) +
         wrapped(fmt::format("Latencies below {} ns are not reliable here.", floor_ns(measured)),
                 2);
}

std::string verdict_text(const CommandFinding& syscalls) {
  if (syscalls.availability == Availability::natively) return "\nOverdue works here.\n";
  return "\n" + wrapped("overdue syscalls does not work here: " + syscalls.native.missing, 0) +
         wrapped("-> " + syscalls.native.remedy, 0);
}

using Json = nlohmann::ordered_json;

Json support_json(const Support& support) {
  Json json = {{"yes", support.yes}};
  if (!support.yes) {
    json["missing"] = support.missing;
    json["remedy"] = support.remedy;
  }
  return json;
}

Json environment_json(const Diagnosis& found) {
  Json json = {
      {"build", found.host.build},
      {"boot_id", found.host.boot_id},
      {"virtualisation", found.host.virtualisation},
      {"container", found.host.container.empty() ? Json() : Json(found.host.container)},
      {"cpus_online", found.host.online_cpus},
      {"cpus_possible", found.host.possible_cpus},
      {"lockdown", found.lockdown},
      {"preempt_rt", found.preempt_rt},
      {"tested", found.tested},
      {"unprivileged_bpf_disabled",
       found.unprivileged_bpf_disabled ? Json(*found.unprivileged_bpf_disabled) : Json()},
      {"capabilities", found.capabilities},
      {"cgroups", cgroup_layout_name(found.cgroups)},
      {"tracefs", found.tracefs.empty() || found.tracefs_private ? Json() : Json(found.tracefs)},
      {"tracefs_private", found.tracefs_private},
      {"clocksource", found.clocksource.empty() ? Json() : Json(found.clocksource)},
      {"clock_read_ns", std::llround(found.clock_read_ns)},
  };
  return json;
}

Json commands_json(const Diagnosis& found) {
  Json list = Json::array();
  for (const CommandFinding& command : found.commands) {
    Json json = {{"name", command.name},
                 {"in_version", command.in_version},
                 {"availability", availability_name(command.availability)},
                 {"how", command.how.empty() ? Json() : Json(command.how)}};
    if (!command.native.yes) {
      json["missing"] = command.native.missing;
      json["remedy"] = command.native.remedy;
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json calibration_json(const Diagnosis& found) {
  if (!found.calibration) return {{"measured", false}, {"reason", found.no_calibration}};
  const Calibration& measured = *found.calibration;
  return {{"measured", true},
          {"base_ns", std::llround(measured.base_ns)},
          {"traced_ns", std::llround(measured.traced_ns)},
          {"bystander_ns", std::llround(measured.bystander_ns)},
          {"cost_ns", std::llround(measured.cost_ns())},
          {"bystander_cost_ns", std::llround(bystander_cost_ns(measured))},
          {"floor_ns", floor_ns(measured)},
          {"spread", measured.spread},
          {"rounds", measured.rounds}};
}

}  // namespace

std::string doctor_text(const Diagnosis& found, bool verbose) {
  Refusals refusals;
  std::string text = kernel_text(found) + environment_text(found);
  text += commands_text(found, refusals, verbose);
  if (verbose) text += facilities_text(found, refusals);
  text += traps_text(found);
  text += cost_text(found);
  return text + verdict_text(found.command("syscalls"));
}

std::string doctor_json(const Diagnosis& found) {
  Json json = {
      {"overdue", OVERDUE_VERSION},
      {"schema", 1},
      {"command", "doctor"},
      {"host",
       {{"name", found.host.name}, {"arch", found.host.arch}, {"cpus", found.host.online_cpus}}},
      {"kernel", found.host.kernel},
      {"works", found.command("syscalls").availability == Availability::natively},
      {"environment", environment_json(found)},
      {"commands", commands_json(found)}};
  json["features"] = Json::array();
  for (const FacilityFinding& facility : found.facilities) {
    Json one = {{"name", facility.name}, {"summary", facility.summary}};
    one.update(support_json(facility.support));
    json["features"].push_back(std::move(one));
  }
  json["traps"] = Json::array();
  for (const Trap& trap : found.traps)
    json["traps"].push_back({{"name", trap.name}, {"what", trap.what}, {"remedy", trap.remedy}});
  json["calibration"] = calibration_json(found);
  // Names of hosts and paths need not be UTF-8.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace overdue

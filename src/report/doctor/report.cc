// The report of `overdue doctor` as text.
#include <algorithm>
#include <map>

#include "base/text.h"
#include "kernel/tested_kernels.h"
#include "report/doctor/findings.h"

namespace overdue {
namespace {

constexpr std::size_t page_width = 80;

std::string wrapped(std::string_view text, std::size_t indent) {
  return filled(text, page_width, indent);
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
                                    "; they name JIT code: node --perf-basic-prof, --perf-maps "
                                    "for Java (17), python3 -X perf (3.12)");
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

}  // namespace overdue

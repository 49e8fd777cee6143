#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/members.h"
#include "core/probe.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/real_time_limit.h"
#include "kernel/session.h"

namespace overdue {

enum class Availability { natively, by_substitute, not_here };
inline constexpr std::array<std::string_view, 3> availability_names{"natively", "substitute", "no"};
constexpr std::string_view availability_name(Availability availability) {
  return availability_names[static_cast<std::size_t>(availability)];
}

/// What a command, or one of its measurements, can do on this kernel.
struct CommandFinding {
  std::string name;  ///< "syscalls", "worst irqsoff"
  Availability availability = Availability::natively;
  std::string how;         ///< the native way to measure, or the substitute; empty: neither
  Support native;          ///< whether natively; if not, why, and the remedy
  bool in_version = true;  ///< false: the finding is about a later version of Overdue
};

/// A property of this machine that makes results slow, wrong or confusing.
struct Trap {
  std::string name;
  std::string what;
  std::string remedy;
};

struct FacilityFinding {
  std::string_view name;
  std::string_view summary;
  Support support;
};

/// Everything that `overdue doctor` reports.
struct Diagnosis {
  Host host;
  std::string lockdown;
  bool preempt_rt = false;
  bool tested = false;  ///< Overdue's own tests run on kernels of this series
  std::optional<int> unprivileged_bpf_disabled;
  CgroupLayout cgroups = CgroupLayout::none;
  std::string tracefs;  ///< path; empty: none
  bool tracefs_private = false;
  std::string clocksource;  ///< empty: unknown
  double clock_read_ns = 0;
  std::vector<std::string_view> capabilities;  ///< Overdue's own, as far as they matter
  std::vector<CommandFinding> commands;
  std::vector<FacilityFinding> facilities;
  std::vector<Trap> traps;
  std::optional<Calibration> calibration;
  std::string no_calibration;  ///< why there is no calibration

  RealTimeLimit real_time;       ///< zeros: no limit is known
  std::size_t perf_maps = 0;     ///< number of perf maps in /tmp, with names of JIT code
  bool has_debug_files = false;  ///< true: /usr/lib/debug/.build-id exists

  /// Throws Error if there is no such finding.
  const CommandFinding& command(std::string_view name) const;
  /// Whether `overdue syscalls` works natively.
  bool works() const;
};

/// Every command of the contract, in the order of the contract.
std::vector<CommandFinding> find_commands(const Kernel& kernel,
                                          std::span<const std::string_view> planned);

/// Looks at the environment; changes nothing.
std::vector<Trap> find_traps(const Kernel& kernel, const Diagnosis& diagnosis);

/// The cost of one read of CLOCK_MONOTONIC in user space, in ns: the fastest of a few short runs.
double clock_read_cost_ns();

/// Below this floor, a difference between latencies is Overdue's own cost or the machine's unrest.
/// A span contains about half of the cost of a call (the end of the enter hook, the start of the
/// exit hook); the floor takes the whole cost.
std::uint64_t floor_ns(const Calibration& calibration);
/// The time that measuring adds to a call of a process that is not measured.
double bystander_cost_ns(const Calibration& calibration);

/// The members of the report in JSON.
void describe(Members& member, const Diagnosis& diagnosis);

/// The two forms of the report. Without `verbose`, the text has only the differences from a machine
/// on which everything works natively.
std::string doctor_text(const Diagnosis& diagnosis, bool verbose);
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace overdue

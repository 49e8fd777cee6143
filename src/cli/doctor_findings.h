#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/probe.h"
#include "kernel/features.h"
#include "kernel/host.h"
#include "kernel/session.h"

namespace overdue {

enum class Availability { natively, by_substitute, not_here };
std::string_view availability_name(Availability availability);

/// What a command, or one measurement of it, can do on this kernel.
struct CommandFinding {
  std::string name;  ///< "syscalls", "worst irqsoff"
  Availability availability = Availability::natively;
  std::string how;         ///< the way it measures, or the substitute; empty where it cannot
  Support native;          ///< why not natively, and what would change it
  bool in_version = true;  ///< false: what is said is what the kernel would allow a later version
};

/// Something about this machine that makes results slow, wrong or confusing.
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

/// Everything `overdue doctor` says.
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
  std::vector<std::string_view> capabilities;  ///< those that matter and that we have
  std::vector<CommandFinding> commands;
  std::vector<FacilityFinding> facilities;
  std::vector<Trap> traps;
  std::optional<Calibration> calibration;
  std::string no_calibration;  ///< why there is none

  const CommandFinding& command(std::string_view name) const;
};

/// Every command of the contract, in its order.
std::vector<CommandFinding> find_commands(const Kernel& kernel,
                                          std::span<const std::string_view> planned);

/// Looks at the environment; changes nothing.
std::vector<Trap> find_traps(const Kernel& kernel, const Diagnosis& diagnosis);

/// What one read of CLOCK_MONOTONIC costs in user space, in ns: the fastest of a few short runs.
double clock_read_cost_ns();

/// The two forms of the report.
std::string doctor_text(const Diagnosis& diagnosis);
std::string doctor_json(const Diagnosis& diagnosis);

}  // namespace overdue

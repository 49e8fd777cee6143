#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/time.h"

namespace overdue {

/// The machine on which a report was made.
struct Host {
  std::string name;
  std::string kernel;  ///< release
  std::string build;   ///< "#1 SMP PREEMPT_DYNAMIC …"
  std::string arch;
  std::string boot_id;         ///< changes with every boot; empty if unknown
  std::string virtualisation;  ///< "kvm", "xen", …, "none", or "unknown hypervisor"
  std::string container;       ///< "docker", "podman", …; empty if no container is detected
  std::uint32_t online_cpus = 0;
  std::uint32_t possible_cpus = 0;
};

/// Reads uname(2), `proc` and `sys`. Never throws for missing information.
Host read_host(const std::filesystem::path& proc = "/proc",
               const std::filesystem::path& sys = "/sys");

/// The number of CPUs in a CPU list of the kernel (`0-3,5`); 0 if `list` is malformed.
std::uint32_t count_cpus(std::string_view list);

/// The period of the ticks of a CPU that is not idle; 0 if a CPU may run without ticks (nohz_full).
Duration tick_period(const std::filesystem::path& sys = "/sys");

/// False in a container with a PID namespace of its own: process ids of this process then differ
/// from those in BPF programs.
bool in_initial_pid_namespace();

/// One instant on both clocks.
struct ClockPair {
  WallTime wall{};
  KernelTime monotonic{};
  Duration uncertainty{};  ///< time between the two readings of the monotonic clock
};

/// Reads the wall clock between two readings of the monotonic clock, a few times, and keeps the
/// tightest pair.
ClockPair read_clocks();

}  // namespace overdue

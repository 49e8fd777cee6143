#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/time.h"

namespace overdue {

/// The machine a report was made on.
struct Host {
  std::string name;
  std::string kernel;  ///< release
  std::string build;   ///< "#1 SMP PREEMPT_DYNAMIC …"
  std::string arch;
  std::string boot_id;         ///< changes with every boot; empty where unknown
  std::string virtualisation;  ///< "kvm", "xen", …, "none", or "unknown hypervisor"
  std::string container;  ///< "docker", "podman", …; empty outside of one, as far as one can tell
  std::uint32_t online_cpus = 0;
  std::uint32_t possible_cpus = 0;
};

/// Asks uname(2), `proc` and `sys`. Never throws for what they do not say.
Host read_host(const std::filesystem::path& proc = "/proc",
               const std::filesystem::path& sys = "/sys");

/// How many CPUs a list of the kernel's (`0-3,5`) names; 0 where it is not one.
std::uint32_t count_cpus(std::string_view list);

/// How far the ticks of a CPU that is not idle are apart; 0 where a CPU may go without them
/// (nohz_full).
Duration tick_period(const std::filesystem::path& sys = "/sys");

/// False where process ids seen here are not those the kernel side sees: in a container with its
/// own.
bool in_initial_pid_namespace();

/// One instant on both clocks.
struct ClockPair {
  WallTime wall{};
  KernelTime monotonic{};
  Duration uncertainty{};  ///< the two were read within this
};

/// Reads the wall clock between two reads of the monotonic one, a few times, and keeps the
/// tightest.
ClockPair read_clocks();

}  // namespace overdue

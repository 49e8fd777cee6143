#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "core/session_info.h"
#include "target/cgroups.h"
#include "target/containers.h"

namespace overdue {

/// The target options as given on the command line; each value may still be a comma-separated list.
struct TargetOptions {
  std::vector<std::string> pids = {};
  std::vector<std::string> tids = {};
  std::vector<std::string> names = {};
  std::vector<std::string> cgroups = {};
  std::vector<std::string> containers = {};
  bool all = false;
  bool no_follow = false;
  std::optional<std::string> cpus = {};
  std::optional<std::string> user = {};
  std::vector<std::string> command = {};

  /// Whether the options, other than the program, choose threads.
  bool chooses_threads() const {
    return !pids.empty() || !tids.empty() || !names.empty() || !cgroups.empty() ||
           !containers.empty() || all;
  }
  /// Whether the options give neither a target nor CPUs.
  bool is_empty() const { return !chooses_threads() && !cpus && command.empty(); }
};

enum class TargetKind { command, pid, tid, name, cgroup, container, all };

/// "command", "pid", … as in TargetInfo and in JSON.
std::string_view target_kind_name(TargetKind kind);

/// The target that the user selected: well-formed, but not yet looked up on this machine.
struct TargetSelection {
  TargetKind kind = TargetKind::all;
  std::vector<std::uint32_t> pids;
  std::vector<std::uint32_t> tids;
  std::vector<std::string> names;  ///< globs for comm
  std::vector<std::string> cgroups;
  std::vector<std::string> containers;
  std::vector<std::string> argv;
  std::vector<std::uint32_t> cpus;  ///< empty: all
  std::string cpus_text;            ///< list as given
  bool follow = true;
  bool present_children = false;  ///< with the children of `pids` that run already
  std::optional<std::string> user;
};

/// The file trees that target resolution reads; tests pass fake trees.
struct TargetSources {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sys = "/sys";
  ContainerStates containers;
  std::uint32_t own_pid = static_cast<std::uint32_t>(getpid());
};

/// Checks and parses the options. `--cpu` alone means everything on these CPUs. Throws Error (exit
/// status 2) for none or several kinds of target, a malformed number or list, or `--user` without a
/// program.
TargetSelection parse_target(const TargetOptions& options, const TargetSources& sources = {});

/// A selection as found on this machine at the time of the call.
struct ResolvedTarget {
  std::vector<std::uint32_t> pids;  ///< whole processes (kinds pid and name), ascending
  std::vector<std::uint32_t> tids;  ///< single threads (kinds tid and name), ascending
  /// The processes of `pids` that a glob matches only by program name. The kernel keeps 15
  /// characters of a name, so the kernel side cannot match them.
  std::vector<std::uint32_t> pids_by_program;
  std::vector<CgroupTarget> cgroups;  ///< kinds cgroup and container
  std::vector<std::string> notes;     ///< remarks for the user, one sentence each, safe to print
  TargetInfo info;                    ///< for SessionInfo
};

/// Looks the selection up; does not start a command. For kind name, a glob without a match yields a
/// note, not an error. Throws Error, with its own message for each: no such process, an exited
/// process, a thread given as a process, Overdue's own process, no such cgroup or container.
ResolvedTarget resolve_target(const TargetSelection& selection, const TargetSources& sources = {});

/// The thread ids of a process, ascending, as /proc shows them now; empty if the process is gone.
std::vector<std::uint32_t> threads_of(std::uint32_t pid, const TargetSources& sources = {});

/// A pidfd that becomes readable when the process ends; the process need not be a child. Nothing if
/// the process is already gone.
std::optional<Fd> watch_process(std::uint32_t pid);

}  // namespace overdue

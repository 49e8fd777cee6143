#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/record.h"

namespace overdue {

/// The target of a measurement in words, for reports of any later time.
struct TargetInfo {
  std::string kind;  ///< "command", "pid", "tid", "name", "cgroup", "container", "all"
  std::vector<std::string> values;  ///< argv, or pids, names, paths as given
  std::vector<std::uint32_t> pids;  ///< resolved at the start, if known
  bool follows_children = true;
  std::string cpus;  ///< CPU list as given; empty means all
};

/// A description of a measurement, without the measured data. Written at the begin of a file, and
/// again at the end, when duration and names are known.
struct SessionInfo {
  std::string version;  ///< of Overdue
  std::string command;  ///< "syscalls", "record", …
  std::string host;
  std::string kernel;  ///< release
  std::string arch;
  std::uint32_t cpus = 0;
  WallTime start_wall{};  ///< the same instant on both clocks: the only conversion between them
  KernelTime start{};
  Duration duration{};
  TargetInfo target;
  std::vector<std::string> thresholds;  ///< as given: "10ms", "futex=1s"
  std::vector<std::string> spans;       ///< measured kinds, as given; empty: system calls
  std::vector<std::string> only;        ///< selected system calls, as given
  /// Settings that a report needs, by name; a command reads back what it wrote here.
  std::map<std::string, std::string> options;
  std::string backend;  ///< "tp_btf", "two-phase", …
  std::vector<std::string>
      notes;  ///< notes that each report of the session shows ("attached 12 of 712 …")
  Names names;

  /// The wall-clock time of `time`. Clamped to the range of WallTime if a damaged file exceeds it.
  WallTime wall(KernelTime time) const {
    using Limits = std::numeric_limits<std::int64_t>;
    const auto since_start = static_cast<std::int64_t>(time.time_since_epoch().count() -
                                                       start.time_since_epoch().count());
    std::int64_t wall_ns = 0;
    if (__builtin_add_overflow(start_wall.time_since_epoch().count(), since_start, &wall_ns))
      wall_ns = since_start < 0 ? Limits::min() : Limits::max();
    return WallTime(std::chrono::nanoseconds(wall_ns));
  }
};

/// Numbers of stack frames, and of unresolved ones among them.
struct FrameCounts {
  std::uint64_t user = 0, user_unresolved = 0;
  std::uint64_t kernel = 0, kernel_unresolved = 0;
};

/// Resources that all processes of Overdue used, from its start to the receipt; empty: not known.
struct OwnUse {
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_bytes;  ///< maximum resident memory
  std::optional<std::uint64_t> bpf_bytes;     ///< kernel memory of BPF programs and maps
};

/// The end of every report: measured events, lost events, and the cost of measuring.
struct Receipt {
  std::uint64_t events = 0;                      ///< spans and events measured
  std::map<std::string, std::uint64_t> lost_by;  ///< reason → events lost; reasons in docs/loss.md
  std::uint64_t unmatched = 0;                   ///< ends without a begin
  std::uint64_t cut = 0;         ///< spans cut by the start or the end of the session
  std::uint64_t refused = 0;     ///< calls that seccomp or a tracer answered before they began
  std::uint64_t probe_runs = 0;  ///< runs of our BPF programs, on the whole machine
  std::optional<std::uint64_t> probe_ns;        ///< time of these runs; empty: too small to measure
  std::optional<std::uint64_t> probe_error_ns;  ///< half the 95 % confidence interval of probe_ns:
                                                ///< not every run is timed
  std::optional<std::uint64_t> probe_target_ns;  ///< part of probe_ns in threads of the target
  std::optional<std::uint64_t> target_cpu_ns;    ///< CPU time of the target in the session
  OwnUse own;
  std::optional<FrameCounts> frames;  ///< of the findings; empty if there are no stacks

  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : lost_by) sum += count;
    return sum;
  }
  /// The share of our programs in the target's CPU time; empty if either is unknown, or the target
  /// used none. Old recordings have only the target's part, as probe_ns.
  std::optional<double> overhead_ratio() const {
    const std::optional<std::uint64_t> part = probe_target_ns ? probe_target_ns : probe_ns;
    if (!part || !target_cpu_ns || *target_cpu_ns == 0) return std::nullopt;
    return static_cast<double>(*part) / static_cast<double>(*target_cpu_ns);
  }
};

}  // namespace overdue

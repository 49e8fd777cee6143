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

/// Who is measured, in words: enough for a report to say so, long after the run.
struct TargetInfo {
  std::string kind;  ///< "command", "pid", "tid", "name", "cgroup", "container", "all"
  std::vector<std::string> values;  ///< argv, or pids, names, paths as given
  std::vector<std::uint32_t> pids;  ///< resolved at the start, where known
  bool follows_children = true;
  std::string cpus;  ///< CPU list as given; empty means all
};

/// Everything about a measurement but the measurements. Written to a file first, and again at the
/// end, when duration and names are known.
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
  std::vector<std::string> thresholds;  ///< of what is late, as given: "10ms", "futex=1s"
  std::vector<std::string> spans;       ///< what was looked for, as given; empty: system calls
  std::vector<std::string> only;        ///< system calls that were chosen, as given
  std::string backend;                  ///< "tp_btf", "two-phase", …
  std::vector<std::string>
      notes;  ///< what the reader of a report must know ("attached 12 of 712 …")
  Names names;

  /// Where that is beyond what a WallTime can say (a damaged file), the nearest it can.
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

/// Frames of stacks, and those of them that nobody could name.
struct FrameCounts {
  std::uint64_t user = 0, user_unresolved = 0;
  std::uint64_t kernel = 0, kernel_unresolved = 0;
};

/// What Overdue itself took, all its processes, from its start to the receipt; empty: not known.
struct OwnUse {
  std::optional<std::uint64_t> cpu_ns;
  std::optional<std::uint64_t> memory_bytes;  ///< the most that was resident
  std::optional<std::uint64_t> bpf_bytes;     ///< of the kernel: BPF programs and maps
};

/// The end of every report: what was seen, what was not, and what measuring cost.
struct Receipt {
  std::uint64_t events = 0;                      ///< spans and events measured
  std::map<std::string, std::uint64_t> lost_by;  ///< reason → events lost; reasons in docs/loss.md
  std::uint64_t unmatched = 0;                   ///< ends without a begin
  std::uint64_t cut = 0;         ///< spans cut by the start or the end of the session
  std::uint64_t refused = 0;     ///< calls that seccomp or a tracer answered before they began
  std::uint64_t probe_runs = 0;  ///< of our BPF programs, on the whole machine
  std::optional<std::uint64_t> probe_ns;         ///< what those took; empty: too small to measure
  std::optional<std::uint64_t> probe_error_ns;   ///< probe_ns is right to within this, 19 of 20
                                                 ///< times: not every run is timed
  std::optional<std::uint64_t> probe_target_ns;  ///< of probe_ns, in threads of the target
  std::optional<std::uint64_t> target_cpu_ns;    ///< CPU time the target used meanwhile
  OwnUse own;
  std::optional<FrameCounts> frames;  ///< of what was found; empty where nothing has stacks

  std::uint64_t lost() const {
    std::uint64_t sum = 0;
    for (const auto& [reason, count] : lost_by) sum += count;
    return sum;
  }
  /// What programs took of the target's CPU time, as a share of that; empty where either is
  /// unknown, or it had none. Old recordings have the target's part only, as probe_ns.
  std::optional<double> overhead_ratio() const {
    const std::optional<std::uint64_t> part = probe_target_ns ? probe_target_ns : probe_ns;
    if (!part || !target_cpu_ns || *target_cpu_ns == 0) return std::nullopt;
    return static_cast<double>(*part) / static_cast<double>(*target_cpu_ns);
  }
};

}  // namespace overdue

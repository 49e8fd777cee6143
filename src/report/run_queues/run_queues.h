#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"
#include "core/members.h"
#include "kernel/run_queues_wire.h"

namespace overdue {

/// The threads in the run queue of a CPU.
struct RunQueue {
  std::uint32_t cpu = 0;
  /// The thread that has the CPU, then those that wait for it, then the others; equal ones by tree
  /// key.
  std::vector<queued_task> tasks{};
};

/// The run queues of a moment, in the order of the CPUs.
struct RunQueues {
  WallTime time{};
  std::vector<RunQueue> cpus{};
  std::map<std::uint32_t, std::string> full_names{};  ///< of threads of the kernel, by tid
};

/// `cpus`: those to list; empty: all that have threads. `own_pid`: the process that is left out,
/// Overdue itself.
RunQueues run_queues_of(std::span<const queued_task> tasks, std::span<const std::uint32_t> cpus,
                        std::uint32_t own_pid);

void describe(Members& member, const RunQueues& queues);

/// The table for people, with the columns of the kernel's own (/sys/kernel/debug/sched/debug).
std::string run_queues_text(const RunQueues& queues);

}  // namespace overdue

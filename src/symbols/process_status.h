#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace overdue {

/// What /proc/PID/status says of a process.
struct ProcessStatus {
  uid_t uid = 0;  ///< effective
  gid_t gid = 0;  ///< effective
  /// The id in the process's own namespace and, if different, in Overdue's.
  std::vector<pid_t> pids;
  std::uint64_t caught_signals = 0;  ///< bit n - 1: the process handles signal n

  bool catches(int signal) const { return (caught_signals >> (signal - 1) & 1) != 0; }
};

/// Nothing if there is no such process.
std::optional<ProcessStatus> read_process_status(pid_t pid);

}  // namespace overdue

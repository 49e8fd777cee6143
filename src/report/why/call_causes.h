#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/latency_table.h"
#include "core/session_info.h"
#include "report/why/cause.h"

namespace overdue {

/// A cause that only the sums of system calls show.
struct CallCause {
  std::uint32_t pid = 0;
  std::string call{};
  WhyCause cause{};
  /// The calls of the cause are a loop that fails, and nearly all calls of the process: so is its
  /// CPU time.
  bool is_whole_process = false;
};

/// Very many short calls, which no threshold finds. `calls`: by process.
std::vector<CallCause> many_calls(const LatencyTable& calls, const SessionInfo& info);

/// Calls that fail again and again, with a sleep after each failure: in one process, or in programs
/// that a script starts one by one.
std::vector<CallCause> retries(const LatencyTable& calls, const SessionInfo& info);

/// The processes whose calls fail each time since something is used up.
std::map<std::uint32_t, Shortage> shortages(const LatencyTable& calls, const SessionInfo& info);

}  // namespace overdue

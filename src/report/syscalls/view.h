#pragma once

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/sink.h"
#include "probes/syscalls/probe.h"
#include "probes/syscalls/table.h"
#include "report/syscalls/view_options.h"
#include "sinks/latency_sections.h"

namespace overdue {

/// Names a cgroup for `--by container`.
std::string container_name(std::uint64_t cgroup_id, const Names& names);

/// Turns system-call records, live or from a file, into the requested report for a sink. `syscalls`
/// and `report` share this class, so that their reports cannot differ.
class SyscallView {
 public:
  SyscallView(const ViewOptions& options, std::optional<SyscallSet> only, Sink& sink);

  void begin(const SessionInfo& info) { sink_.begin(info); }
  /// Throws Error if the record lacks data that the options request.
  void record(const Record& record);
  /// Ends an interval: shows the calls since the last interval.
  void interval(const SessionInfo& info, Duration wall);
  /// Shows the totals and the receipt, whose `events` becomes the number of events shown.
  void end(SessionInfo info, Receipt receipt);

  /// Adds system calls that were seen, for --discover.
  void discovered(const SyscallSet& set);

  /// True if records of this call are to be shown.
  bool wanted(u16 abi, u32 nr) const;

 private:
  void refuse_unfit_cell(const Record& cell) const;
  void refuse_without_caller(const Record& record) const;
  void refuse_without_origin(const Record& record) const;
  std::vector<FoundName> discovered_names(const Names& names) const;
  LatencyTable finished(const SyscallTable& table, const SessionInfo& info, Duration wall) const;

  ViewOptions options_;
  GroupBy by_;
  std::optional<SyscallSet> only_;
  Sink& sink_;
  SyscallTable total_;
  SyscallTable since_last_;
  bool intervals_ = false;
  std::uint64_t calls_shown_ = 0;
  std::set<std::pair<u16, u32>> discovered_;  ///< ABI and number of seen calls
  std::uint64_t not_shown_ = 0;               ///< calls that were left out: numbers beyond the sets
};

}  // namespace overdue

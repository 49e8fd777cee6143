#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/options.h"
#include "core/sink.h"
#include "probes/syscalls/probe.h"
#include "probes/syscalls/table.h"

namespace overdue {

/// Names a cgroup for `--by container`.
using ContainerNamer = std::function<std::string(std::uint64_t cgroup_id, const Names&)>;
std::string container_name(std::uint64_t cgroup_id, const Names& names);

/// Turns system-call records, live or from a file, into what the user asked to see, and gives it to
/// a sink. The one place where `syscalls` and `report` meet, so that they cannot differ.
class SyscallView {
 public:
  SyscallView(const ViewOptions& options, std::optional<SyscallSet> only, Sink& sink);

  void begin(const SessionInfo& info) { sink_.begin(info); }
  void record(const Record& record);
  /// Ends an interval: shows what came since the last one.
  void interval(const SessionInfo& info, Duration wall);
  /// Shows the whole and the receipt, whose `events` is filled in.
  void end(const SessionInfo& info, Receipt receipt);

  std::uint64_t events() const { return events_; }
  /// System calls seen, for --discover.
  void discovered(const SyscallSet& set);

  /// True where a record of this number is to be shown.
  bool wanted(u16 abi, u32 nr) const;

 private:
  LatencyTable finished(const SyscallTable& table, const SessionInfo& info, Duration wall) const;

  ViewOptions options_;
  GroupBy by_;
  std::optional<SyscallSet> only_;
  Sink& sink_;
  SyscallTable total_;
  SyscallTable since_last_;
  bool intervals_ = false;
  std::uint64_t events_ = 0;
  std::set<std::pair<u16, u32>> discovered_;  ///< ABI and number
  std::uint64_t not_shown_ = 0;  ///< calls of numbers beyond the sets that were left out
};

}  // namespace overdue

#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/latency_table.h"
#include "core/record.h"
#include "probes/syscalls/syscalls.h"

namespace overdue {

/// Folds system-call records (calls, cells, open calls) into the rows of a latency report. The same
/// code serves the live report and `overdue report`. One thread.
class SyscallTable {
 public:
  /// How many rows of threads or processes are kept apart; the calls of later ones go to rows named
  /// "(other)", so that a machine that starts threads for ever does not fill our memory.
  static constexpr std::size_t rows_max = 20'000;

  explicit SyscallTable(GroupBy by) : by_(by) {}

  /// Takes one record; other kinds are ignored.
  void add(const Record& record);

  /// The rows gathered so far, named. `container` names a cgroup id.
  LatencyTable table(const Names& names, Duration wall,
                     const std::function<std::string(std::uint64_t)>& container) const;
  /// Calls seen so far.
  std::uint64_t calls() const { return calls_; }
  void clear();

 private:
  struct Key {
    u16 abi;
    u64 nr;  // a number, or "too many numbers"
    u32 pid;
    u32 tid;
    u64 cgroup;
    std::string comm;
    auto operator<=>(const Key&) const = default;
  };
  struct Value {
    Histogram latency;
    u64 unreturned = 0;
    u64 errors = 0;
    bool late = false;
    u64 untimed = 0;
    std::map<u32, u64> errnos;
  };

  Value& value(u16 abi, u32 nr, const event_header& who);
  void add_call(const syscall_call& call);
  void add_cell(const syscall_cell& cell);

  GroupBy by_;
  std::map<Key, Value> values_;
  std::vector<syscall_open> open_;
  std::uint64_t calls_ = 0;
};

}  // namespace overdue

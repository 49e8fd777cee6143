#pragma once

#include <compare>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "bpf/syscalls.h"
#include "core/latency_table.h"
#include "core/record.h"

namespace overdue {

/// Number of calls that a cell counts.
std::uint64_t calls_of(const syscall_cell& cell);

/// Folds system-call records (calls, cells, open calls) into the rows of a latency report. The same
/// code serves the live report and `overdue report`. Used by one thread.
class SyscallTable {
 public:
  /// Limit of separate rows for threads or processes. The calls of later ones go to rows named
  /// "(other)", so that neither a machine that starts threads for ever nor a hostile file fills the
  /// memory. Also the limit of unfinished calls.
  static constexpr std::size_t rows_max = 20'000;

  explicit SyscallTable(GroupBy by) : by_(by) {}

  /// Takes one record; other kinds are ignored.
  void add(const Record& record);

  /// The rows gathered so far, named. `container` names a cgroup id.
  LatencyTable table(const Names& names, Duration wall,
                     const std::function<std::string(std::uint64_t)>& container) const;
  /// The calls open at the end: the oldest rows_max of them.
  std::vector<OpenSpan> unfinished(const Names& names) const;
  /// Number of further open calls.
  std::uint64_t unfinished_omitted() const { return open_omitted_; }
  /// Calls seen so far.
  std::uint64_t calls() const { return calls_; }
  const ProcessCounts& processes() const { return processes_; }
  void clear();

 private:
  struct Key {
    u16 abi;
    u64 nr;  // a number, or "too many numbers"
    u32 pid;
    u32 tid;
    u64 cgroup;
    u32 caller;
    std::string comm;
    Owner owner;
    auto operator<=>(const Key&) const = default;
  };
  struct Value {
    Histogram latency;
    u64 unreturned = 0;
    u64 failed = 0;
    u64 errors = 0;
    bool late = false;
    u64 untimed = 0;
    u64 refused = 0;
    std::map<u32, u64> errnos;

    void merge(const Value& other);
  };

  /// The call and its caller, as in a record.
  struct Call {
    u16 abi;
    u32 nr;
    u32 caller;
  };
  Value& value(const Call& call, const event_header& who, const process_origin& origin);
  /// The parts of an owner by which rows are separated.
  Owner owner_key(const Owner& owner) const;
  /// `caller`, as far as rows are separated by it.
  CallerName caller_name(u32 caller, const Names& names) const;
  LatencyRow named_row(const Key& key, const Names& names) const;
  void add_call(const syscall_call& call);
  void add_cell(const syscall_cell& cell);
  void add_open(const syscall_open& open);

  GroupBy by_;
  std::map<Key, Value> values_;
  ProcessCounts processes_;         ///< by owner
  std::vector<syscall_open> open_;  // once full, a heap with the youngest in front
  std::uint64_t open_omitted_ = 0;
  std::uint64_t calls_ = 0;
};

}  // namespace overdue

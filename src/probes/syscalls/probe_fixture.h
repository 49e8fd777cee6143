#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <vector>

#include "kernel/child_fixture.h"
#include "kernel/session.h"
#include "probes/syscalls/probe.h"
#include "probes/syscalls/table.h"

// For tests of the system-call probe: a session that keeps everything it measures.
namespace overdue {

/// What a session has delivered.
struct Seen {
  std::vector<syscall_call> calls;
  std::vector<syscall_cell> cells;
  std::vector<syscall_open> opens;

  RecordHandler handler() {
    return [this](const Record& record) {
      if (record.schema->id == RECORD_SYSCALL_CALL) calls.push_back(record.as<syscall_call>());
      if (record.schema->id == RECORD_SYSCALL_CELL) cells.push_back(record.as<syscall_cell>());
      if (record.schema->id == RECORD_SYSCALL_OPEN) opens.push_back(record.as<syscall_open>());
    };
  }

  static constexpr u32 any = ~0u;
  /// Calls with a number, in cells and in records of calls. `tid`: if cells are by thread.
  u64 made(u32 nr, u16 abi = ABI_NATIVE, u32 tid = any) const {
    u64 sum = 0;
    for (const syscall_cell& cell : cells)
      if (cell.nr == nr && cell.abi == abi && (tid == any || cell.header.tid == tid))
        sum += calls_of(cell);
    for (const syscall_call& call : calls)
      sum += call.nr == nr && call.abi == abi && (tid == any || call.header.tid == tid);
    return sum;
  }
  u64 unreturned(u32 nr) const {
    u64 sum = 0;
    for (const syscall_cell& cell : cells) sum += cell.nr == nr ? cell.unreturned : 0;
    for (const syscall_call& call : calls) sum += call.nr == nr && call.flags & SYSCALL_UNRETURNED;
    return sum;
  }
  u64 max_ns() const {
    u64 most = 0;
    for (const syscall_cell& cell : cells) most = std::max(most, cell.latency.max_ns);
    for (const syscall_call& call : calls) most = std::max(most, call.latency_ns);
    return most;
  }
  /// All measured calls, whatever their number.
  u64 all() const {
    u64 sum = calls.size();
    for (const syscall_cell& cell : cells) sum += calls_of(cell);
    return sum;
  }
  bool knows_pid(u32 pid) const {
    const auto is_of = [pid](const auto& record) { return record.header.pid == pid; };
    return std::any_of(cells.begin(), cells.end(), is_of) ||
           std::any_of(calls.begin(), calls.end(), is_of) ||
           std::any_of(opens.begin(), opens.end(), is_of);
  }
};

class Measuring {
 public:
  explicit Measuring(const MembershipRules& rules, const SyscallsOptions& options = {},
                     std::size_t ring_bytes = 0)
      : session(rules, ring_bytes) {
    auto made = std::make_unique<SyscallsProbe>(options, session.membership().maps());
    probe = made.get();
    session.add(std::move(made));
  }

  void arm() { session.arm(); }
  void collect() { session.collect(seen.handler()); }
  void poll() { session.poll(seen.handler()); }
  const Seen& finish() {
    session.finish(seen.handler());
    return seen;
  }
  u64 lost(const std::string& reason) const {
    const Receipt receipt = session.receipt();
    const auto found = receipt.lost_by.find(reason);
    return found == receipt.lost_by.end() ? 0 : found->second;
  }

  Session session;
  SyscallsProbe* probe = nullptr;
  Seen seen;
};

inline MembershipRules rules_of_process(const Child& child) {
  MembershipRules rules;
  rules.pids = {child.pid()};
  return rules;
}

inline SyscallSet only_these(std::initializer_list<u32> numbers) {
  SyscallSet set;
  for (const u32 nr : numbers)
    for (auto& of_abi : set) of_abi[nr] = true;
  return set;
}

enum class Figures { by_cpu, by_thread, calls, calls_and_by_thread, discovery };

inline SyscallsOptions figures(Figures kind, std::optional<SyscallSet> only = {}) {
  SyscallsOptions options;
  options.aggregate = kind != Figures::calls;
  options.by_thread = kind == Figures::by_thread || kind == Figures::calls_and_by_thread;
  options.calls = kind == Figures::calls || kind == Figures::calls_and_by_thread;
  options.discover_only = kind == Figures::discovery;
  options.only = std::move(only);
  return options;
}

/// The figures by CPU, by thread, and call by call.
inline std::vector<SyscallsOptions> every_way() {
  return {figures(Figures::by_cpu), figures(Figures::by_thread), figures(Figures::calls)};
}
constexpr std::size_t plenty = 16 << 20;
inline std::size_t ring_for(const SyscallsOptions& options) {
  return options.calls ? plenty : 0;
}

}  // namespace overdue

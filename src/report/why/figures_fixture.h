#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "report/why/figures.h"

namespace overdue::figures_test {

inline constexpr std::uint64_t ms = 1'000'000;

inline OffcpuRow thread_of(std::uint32_t pid, std::uint32_t tid, std::string comm) {
  OffcpuRow row;
  row.pid = pid;
  row.tid = tid;
  row.comm = std::move(comm);
  row.threads = 1;
  row.wall_ns = 1000 * ms;
  return row;
}

/// One second of a session.
struct Session {
  Session() {
    info.duration = std::chrono::seconds(1);
    info.target.kind = "pid";
    info.target.values = {"10"};
  }
  WhyFigures figures() const {
    return figures_of({.info = info,
                       .threads = threads,
                       .blame = blame,
                       .undecided = undecided,
                       .sampling = sampling,
                       .cpu = cpu,
                       .calls = calls,
                       .locks = locks,
                       .sides = sides,
                       .other_ends = other_ends,
                       .limits = limits,
                       .memory_limits = memory_limits,
                       .disk_limits = disk_limits,
                       .disk_writers = disk_writers,
                       .bound_threads = bound_threads,
                       .lower_priorities = lower_priorities,
                       .disks = disks,
                       .threshold_ns = ms});
  }
  void call(std::string name, std::uint64_t count, std::uint64_t each_ns,
            std::uint64_t errors = 0) {
    LatencyRow row;
    row.name = std::move(name);
    row.process = ProcessKey{10, "app"};
    row.latency.add(each_ns, count);
    row.errors = errors;
    if (errors > 0) row.errnos = {{"EWOULDBLOCK", errors}};
    calls.rows.push_back(std::move(row));
  }

  SessionInfo info;
  std::vector<OffcpuRow> threads;
  BlameTable blame, undecided;
  WhySampling sampling;
  CpuFunctions cpu;
  LatencyTable calls;
  std::vector<FileLock> locks;
  std::vector<OtherSide> sides;
  std::vector<OtherEnd> other_ends;
  std::vector<Remark> limits, memory_limits, disk_limits, disk_writers, bound_threads,
      lower_priorities;
  DiskUses disks;
};

}  // namespace overdue::figures_test

#include "top/rows.h"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "flame/stack_filter.h"
#include "report/why/groups.h"

namespace overdue {
namespace {

/// A row, and the threads that it adds up.
struct RowThreads {
  TopRow row;
  std::vector<const OffcpuRow*> threads;
};

bool is_of_disk(const WhyCause& cause) {
  return cause.kind == why_blocked && cause.cause.starts_with("disk");
}

/// Threads that are too many to keep apart have no number of their own: their name stands for them.
std::string key_of(const OffcpuRow& thread, TopBy by) {
  if (thread.tid == 0) return thread.comm;
  return std::to_string(by == TopBy::threads ? thread.tid : thread.pid);
}

std::map<std::string, RowThreads> rows_by(const std::vector<OffcpuRow>& threads, TopBy by) {
  std::map<std::string, RowThreads> all;
  for (const OffcpuRow& thread : threads) {
    RowThreads& of_row = all[key_of(thread, by)];
    OffcpuRow& sums = of_row.row.sums;
    if (of_row.threads.empty() || thread.tid == thread.pid) sums.comm = thread.comm;
    sums.pid = thread.pid;
    sums.tid = by == TopBy::threads ? thread.tid : thread.pid;
    sums.add(thread);
    of_row.threads.push_back(&thread);
  }
  for (auto& [key, of_row] : all) {
    OffcpuRow& sums = of_row.row.sums;
    of_row.row.key = key;
    of_row.row.name = sums.pid == 0 ? printable(sums.comm)
                                    : fmt::format("{}[{}]", printable(sums.comm), sums.tid);
    if (sums.threads > 1) of_row.row.name += fmt::format(" ×{}", sums.threads);
  }
  return all;
}

/// The groups of `why`; a thread belongs to the one of its name, in its process or in all.
std::map<std::string, RowThreads> rows_by_group(const std::vector<OffcpuRow>& threads,
                                                const std::vector<WhyRow>& groups) {
  std::map<std::string, RowThreads> all;
  const auto key = [](std::uint32_t pid, const std::string& name) {
    return fmt::format("{} {}", pid, name);
  };
  for (const OffcpuRow& group : groups) {
    RowThreads& of_row = all[key(group.pid, without_numbers(group.comm))];
    of_row.row = {.key = key(group.pid, without_numbers(group.comm)),
                  .name = counted_name(group),
                  .sums = static_cast<const OffcpuRow&>(group)};
  }
  for (const OffcpuRow& thread : threads) {
    const std::string name = without_numbers(thread.comm);
    auto found = all.find(key(thread.pid, name));
    if (found == all.end()) found = all.find(key(0, name));
    if (found != all.end()) found->second.threads.push_back(&thread);
  }
  return all;
}

/// Sums of a row's threads that a cause of sums is about.
std::uint64_t part_of_sums(const WhyCause& cause, const RowThreads& of_row) {
  std::uint64_t ns = 0;
  for (const OffcpuRow* thread : of_row.threads) {
    if (cause.pid != 0 && cause.pid != thread->pid) continue;
    if (!cause.comm.empty() && cause.comm != without_numbers(thread->comm)) continue;
    ns += cause.kind == why_retry ? thread->reason_ns[REASON_SLEEP] : thread->oncpu_ns;
  }
  return std::min(ns, cause.total_ns);
}

/// The causes, and the late time that findings book under them for each thread.
struct Causes {
  explicit Causes(const WhyFigures& figures) {
    for (const WhyCause& cause : figures.causes) {
      for (const auto& [tid, ns] : cause.threads) of_threads[tid].emplace_back(all.size(), ns);
      all.push_back(std::make_shared<const WhyCause>(cause));
    }
  }
  std::vector<std::shared_ptr<const WhyCause>> all;
  std::map<std::uint32_t, std::vector<std::pair<std::size_t, std::uint64_t>>> of_threads;
};

bool has_findings(const WhyCause& cause) {
  return !cause.threads.empty();
}

/// The time of the row under each of the causes.
std::vector<std::uint64_t> parts_of(const RowThreads& of_row, const Causes& causes,
                                    std::uint64_t disk_ns) {
  std::vector<std::uint64_t> parts(causes.all.size());
  for (const OffcpuRow* thread : of_row.threads)
    if (const auto found = causes.of_threads.find(thread->tid); found != causes.of_threads.end())
      for (const auto& [cause, ns] : found->second) parts[cause] += ns;
  const OffcpuRow& sums = of_row.row.sums;
  // Some of the findings are estimates, or have waits that began before.
  for (std::uint64_t& part : parts) part = std::min(part, sums.blocked_ns());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WhyCause& cause = *causes.all[i];
    if (cause.kind == why_runqueue)
      parts[i] = sums.runqueue_ns + sums.preempted_ns;
    else if (cause.kind == why_throttled)
      parts[i] = sums.throttled_ns;
    else if (is_of_disk(cause) && !has_findings(cause))  // waits too short to be examined
      parts[i] = std::min(disk_ns, cause.total_ns);
    else if (!has_findings(cause))
      parts[i] = part_of_sums(cause, of_row);
  }
  return parts;
}

void add_causes(RowThreads& of_row, const Causes& causes) {
  TopRow& row = of_row.row;
  const std::uint64_t disk_ns = row.sums.reason_ns[REASON_DISK] + row.sums.reason_ns[REASON_FAULT];
  std::uint64_t found_disk_ns = 0;
  row.late_ns = row.sums.runnable_ns();
  const std::vector<std::uint64_t> parts = parts_of(of_row, causes, disk_ns);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const WhyCause& cause = *causes.all[i];
    if (has_findings(cause)) (is_of_disk(cause) ? found_disk_ns : row.late_ns) += parts[i];
    if (parts[i] <= row.cause_ns) continue;
    row.cause_ns = parts[i];
    row.cause = causes.all[i];
  }
  row.late_ns = std::min(row.late_ns + std::max(disk_ns, found_disk_ns), row.sums.offcpu_ns());
}

}  // namespace

std::string_view top_by_name(TopBy by) {
  return by == TopBy::groups ? "groups" : by == TopBy::threads ? "threads" : "processes";
}

std::vector<TopRow> top_rows(const std::vector<OffcpuRow>& threads, const WhyFigures& figures,
                             TopBy by) {
  std::map<std::string, RowThreads> all =
      by == TopBy::groups ? rows_by_group(threads, figures.groups) : rows_by(threads, by);
  const Causes causes(figures);
  std::vector<TopRow> rows;
  for (auto& [key, of_row] : all) {
    add_causes(of_row, causes);
    rows.push_back(std::move(of_row.row));
  }
  return rows;
}

}  // namespace overdue

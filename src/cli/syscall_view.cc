#include "cli/syscall_view.h"

#include <algorithm>

#include "base/error.h"
#include "probes/syscalls/names.h"
#include "target/containers.h"

namespace overdue {
namespace {

std::uint64_t calls_in(const Record& record) {
  if (record.schema->id == RECORD_SYSCALL_CALL) return 1;
  if (record.schema->id != RECORD_SYSCALL_CELL) return 0;
  const auto cell = record.as<syscall_cell>();
  return cell.latency.count + cell.unreturned + cell.untimed;
}

}  // namespace

std::string container_name(std::uint64_t cgroup_id, const Names& names) {
  const auto path = names.cgroups.find(cgroup_id);
  if (path == names.cgroups.end()) return fmt::format("cgroup {} (gone)", cgroup_id);
  const std::string container = container_of(path->second);
  return container.empty() ? path->second : container;
}

SyscallView::SyscallView(const ViewOptions& options, std::optional<SyscallSet> only, Sink& sink)
    : options_(options),
      by_(options.group_by()),
      only_(std::move(only)),
      sink_(sink),
      total_(by_),
      since_last_(by_) {
  LatencyTable probe_of_column;
  sort_rows(probe_of_column, options.sort,
            0);  // a bad column is an error now, not after the run
}

bool SyscallView::wanted(u16 abi, u32 nr) const {
  if (!only_) return true;
  return abi < ABI_COUNT && nr < SYSCALL_TABLE_SIZE && (*only_)[abi][nr];
}

void SyscallView::record(const Record& record) {
  u16 abi = 0;
  u32 nr = 0;
  if (record.schema->id == RECORD_SYSCALL_CALL) {
    abi = record.at<u16>(offsetof(syscall_call, abi));
    nr = record.at<u32>(offsetof(syscall_call, nr));
  } else if (record.schema->id == RECORD_SYSCALL_CELL) {
    abi = record.at<u16>(offsetof(syscall_cell, abi));
    nr = record.at<u32>(offsetof(syscall_cell, nr));
    if (record.header().tid == 0 && (by_.process || by_.thread || by_.container))
      throw Error("this recording has no figures per thread")
          .hint(
              "record with `overdue record --events syscalls`, or with `overdue syscalls --by "
              "thread --save`");
  } else if (record.schema->id == RECORD_SYSCALL_OPEN) {
    abi = record.at<u16>(offsetof(syscall_open, abi));
    nr = record.at<u32>(offsetof(syscall_open, nr));
  }
  if (!wanted(abi, nr)) {
    if (nr >= SYSCALL_TABLE_SIZE) not_shown_ += calls_in(record);
    return;
  }
  if (options_.discover) {
    // As many as there may be rows: a file can name four billion numbers.
    if (discovered_.size() < SyscallTable::rows_max || discovered_.contains({abi, nr}))
      discovered_.emplace(abi, nr);
    else
      not_shown_ += calls_in(record);
  }
  if (record.schema->id == RECORD_SYSCALL_CALL && options_.calls) {
    ++events_;
    sink_.record(record);
    return;
  }
  total_.add(record);
  if (intervals_) since_last_.add(record);
}

void SyscallView::discovered(const SyscallSet& set) {
  for (u16 abi = 0; abi < ABI_COUNT; ++abi)
    for (u32 nr = 0; nr < SYSCALL_TABLE_SIZE; ++nr)
      if (set[abi][nr]) discovered_.emplace(abi, nr);
}

LatencyTable SyscallView::finished(const SyscallTable& table, const SessionInfo& info,
                                   Duration wall) const {
  LatencyTable result = table.table(
      info.names, wall, [&](std::uint64_t id) { return container_name(id, info.names); });
  result.show_histograms = options_.histograms;
  sort_rows(result, options_.sort, options_.row_limit());
  return result;
}

void SyscallView::interval(const SessionInfo& info, Duration wall) {
  if (intervals_) {
    sink_.table(finished(since_last_, info, wall), false);
    since_last_.clear();
  }
  intervals_ = true;
}

void SyscallView::end(const SessionInfo& info, Receipt receipt) {
  if (options_.discover) {
    std::vector<std::string> names;
    for (const auto& [abi, nr] : discovered_) names.push_back(syscall_name(abi, nr, info.names));
    std::sort(names.begin(), names.end());
    sink_.names(names);
    receipt.events = names.size();
  } else {
    if (!options_.calls) sink_.table(finished(total_, info, info.duration), true);
    receipt.events = events_ + total_.calls();
  }
  if (not_shown_ == 0) return sink_.end(info, receipt);
  SessionInfo noted = info;
  noted.notes.push_back(fmt::format("calls of numbers above {} that are not shown: {}",
                                    SYSCALL_TABLE_SIZE - 1, not_shown_));
  sink_.end(noted, receipt);
}

}  // namespace overdue

#include "report/syscalls/view.h"

#include <algorithm>

#include "base/error.h"
#include "syscalls/names.h"
#include "target/containers.h"

namespace overdue {
namespace {

std::uint64_t calls_in(const Record& record) {
  if (record.schema->id == RECORD_SYSCALL_CALL) return 1;
  if (record.schema->id != RECORD_SYSCALL_CELL) return 0;
  const auto cell = record.as<syscall_cell>();
  return calls_of(cell);
}

/// With --discover, callers are shown with their libraries.
GroupBy keys_of(const ViewOptions& options) {
  GroupBy keys = options.group_by();
  if (options.discover && keys.needs_callers()) keys.library = keys.caller = true;
  return keys;
}

}  // namespace

std::string container_name(std::uint64_t cgroup_id, const Names& names) {
  const std::string path = cgroup_text(cgroup_id, names);
  const std::string container = container_of(path);
  return container.empty() ? path : container;
}

SyscallView::SyscallView(const ViewOptions& options, std::optional<SyscallSet> only, Sink& sink)
    : options_(options),
      by_(keys_of(options)),
      only_(std::move(only)),
      sink_(sink),
      total_(by_),
      since_last_(by_) {}

bool SyscallView::wanted(u16 abi, u32 nr) const {
  if (!only_) return true;
  return abi < ABI_COUNT && nr < SYSCALL_TABLE_SIZE && (*only_)[abi][nr];
}

/// An aggregate can be shown only as coarsely as it was recorded.
void SyscallView::refuse_unfit_cell(const Record& cell) const {
  if (options_.calls)
    throw Error("this recording has no single calls: it was made from aggregates")
        .hint("leave --calls out, or record with `overdue record`");
  if (cell.header().tid == 0 && by_.needs_threads())
    throw Error("this recording has no figures per thread")
        .hint(
            "record with `overdue record --events syscalls`, or with `overdue syscalls --by "
            "thread --save`");
}

void SyscallView::refuse_without_origin(const Record& record) const {
  if (!by_.parent) return;
  if (record.schema->id == RECORD_SYSCALL_CELL &&
      record.at<u32>(offsetof(syscall_cell, origin.is_known)) != 0)
    return;
  throw Error("this recording does not say which processes started the others")
      .hint("record with `overdue syscalls --by parent --save`");
}

void SyscallView::refuse_without_caller(const Record& record) const {
  if (!by_.needs_callers()) return;
  const auto caller = record.schema->id == RECORD_SYSCALL_CALL
                          ? record.at<u32>(offsetof(syscall_call, caller))
                          : record.at<u32>(offsetof(syscall_cell, caller));
  if (caller == CALLER_NONE)
    throw Error("this recording does not say what caused its calls")
        .hint("record with `overdue syscalls --by caller --save`");
}

void SyscallView::record(const Record& record) {
  u16 abi = 0;
  u32 nr = 0;
  const u16 kind = record.schema->id;
  if (kind == RECORD_SYSCALL_CALL) {
    abi = record.at<u16>(offsetof(syscall_call, abi));
    nr = record.at<u32>(offsetof(syscall_call, nr));
    refuse_without_caller(record);
    refuse_without_origin(record);
  } else if (kind == RECORD_SYSCALL_CELL) {
    abi = record.at<u16>(offsetof(syscall_cell, abi));
    nr = record.at<u32>(offsetof(syscall_cell, nr));
    refuse_unfit_cell(record);
    refuse_without_caller(record);
    refuse_without_origin(record);
  } else if (kind == RECORD_SYSCALL_OPEN) {
    abi = record.at<u16>(offsetof(syscall_open, abi));
    nr = record.at<u32>(offsetof(syscall_open, nr));
  } else {
    return;  // of another view
  }
  if (!wanted(abi, nr)) {
    if (nr >= SYSCALL_TABLE_SIZE) not_shown_ += calls_in(record);
    return;
  }
  if (options_.discover) {
    // At most as many as rows: a file can name four billion numbers.
    if (discovered_.size() < SyscallTable::rows_max || discovered_.contains({abi, nr}))
      discovered_.emplace(abi, nr);
    else
      not_shown_ += calls_in(record);
  }
  if (kind == RECORD_SYSCALL_CALL && options_.calls) {
    ++calls_shown_;
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
  sort_rows(result, options_.sort_column(), options_.row_limit());
  return result;
}

void SyscallView::interval(const SessionInfo& info, Duration wall) {
  if (intervals_) {
    sink_.section(std::make_shared<LatencySection>(finished(since_last_, info, wall),
                                                   info.wall(info.start + (info.duration - wall))));
    since_last_.clear();
  }
  intervals_ = true;
}

std::vector<FoundName> SyscallView::discovered_names(const Names& names) const {
  std::vector<FoundName> found;
  if (by_.needs_callers()) {
    for (LatencyRow& row : total_.table(names, {}, {}).rows)
      found.push_back(
          {std::move(row.name), CallerName{row.library.value_or(""), row.caller.value_or("")}});
  } else {
    for (const auto& [abi, nr] : discovered_) found.push_back({syscall_name(abi, nr, names), {}});
  }
  std::sort(found.begin(), found.end());
  return found;
}

void SyscallView::end(SessionInfo info, Receipt receipt) {
  if (const auto omitted = total_.unfinished_omitted(); omitted > 0 && !options_.discover)
    info.notes.push_back(fmt::format("{} more calls were unfinished: the oldest {} are listed",
                                     omitted, SyscallTable::rows_max));
  if (options_.discover) {
    std::vector<FoundName> names = discovered_names(info.names);
    receipt.events = names.size();
    sink_.section(std::make_shared<NamesSection>(std::move(names)));
  } else if (options_.calls) {
    sink_.section(std::make_shared<UnfinishedSection>(total_.unfinished(info.names)));
    receipt.events = calls_shown_;
  } else {
    sink_.section(std::make_shared<LatencySection>(finished(total_, info, info.duration)));
    receipt.events = total_.calls();
  }
  if (std::string note = left_out_text(total_.processes()); !note.empty())
    info.notes.push_back(std::move(note));
  if (not_shown_ > 0)
    info.notes.push_back(fmt::format("calls of numbers above {} that are not shown: {}",
                                     SYSCALL_TABLE_SIZE - 1, not_shown_));
  sink_.end(info, receipt);
}

}  // namespace overdue

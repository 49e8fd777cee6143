#include "report/why/disk_uses.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "bpf/disk_use.h"
#include "report/why/known_waits.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t records_max = 10'000, users_named = 2;
constexpr std::size_t processes_apart = 3;  // more processes with one name are one user
constexpr double least_part_named = 0.2;
constexpr std::string_view of_disk = "disk";

std::string user_name(const DiskUse& use) {
  return use.pid == 0 ? printable(use.comm) : fmt::format("{}[{}]", printable(use.comm), use.pid);
}

/// The disk that the cause is about; empty: none, or not known.
std::string_view disk_of(const WhyCause& cause) {
  for (const WhyName& name : cause.by)
    if (name.name.starts_with("disk ")) return std::string_view(name.name).substr(5);
  return {};
}

bool is_about_disk(const WhyCause& cause) {
  return cause.cause.starts_with(of_disk) || cause.cause.starts_with(page_writeback) ||
         !disk_of(cause).empty();
}

/// Whether the waiting threads are of this process, by its name.
bool is_waiting(const WhyCause& cause, const DiskUse& use) {
  if (cause.example && use.pid != 0 && cause.example->thread.pid == use.pid) return true;
  return std::ranges::any_of(cause.who, [&](const WhyName& name) {
    return name.name == without_numbers(use.comm) || name.name == user_name(use);
  });
}

DiskUse sum_of(const std::vector<DiskUse>& uses, const std::string& comm) {
  DiskUse sum{.disk = uses.front().disk, .comm = comm};
  for (const DiskUse& use : uses) {
    sum.requests += use.requests;
    sum.bytes += use.bytes;
    sum.device_ns += use.device_ns;
  }
  return sum;
}

/// The limit that the cgroup of the waiting process sets to this disk, if known.
std::string_view limit_of(const WhyCause& cause, const std::string& disk,
                          const std::vector<Remark>& limits) {
  const std::string begin = printable(disk) + ": ";
  for (const Remark& limit : limits)
    if (cause.example && limit.id == cause.example->thread.pid && limit.words.starts_with(begin))
      return std::string_view(limit.words).substr(begin.size());
  return "a limit of a cgroup";
}

/// Whether a worker of the kernel, which writes data of processes, asked for it.
bool is_worker(const DiskUse& use) {
  return use.comm.starts_with("kworker/");
}

/// Whether the workers use this disk and hardly any other: whose data it is to which disk is not
/// known.
bool is_written_back_to(std::string_view disk, const std::vector<DiskUse>& uses) {
  std::uint64_t here = 0, all = 0;
  for (const DiskUse& use : uses) {
    if (!is_worker(use)) continue;
    all += use.bytes;
    if (use.disk == disk) here += use.bytes;
  }
  return here >= all / 10 * 9;
}

std::string writers_text(const std::vector<Remark>& writers) {
  std::vector<std::string_view> said;
  for (const Remark& writer : writers)
    if (said.size() < users_named) said.push_back(writer.words);
  return fmt::format("{}", fmt::join(said, ", "));
}

/// Time of a thread that waited, on average.
std::uint64_t wait_of_one(const WhyCause& cause) {
  return cause.total_ns / std::max<std::uint64_t>(1, cause.waiters.size());
}

}  // namespace

void describe(Members& member, const DiskUse& use) {
  member.type("disk_use", "What the processes with one name asked of a disk");
  member("disk", use.disk);
  member("comm", use.comm, {.help = "of the process; with * for numbers of several"});
  member("pid", when(use.pid != 0, use.pid), {.help = "missing: several processes"});
  member("requests", use.requests, {.help = "completed in the session"});
  member("bytes", use.bytes, {.help = "read and written"});
  member("device_ns", use.device_ns,
         {.help = "time of the requests in the device, which works on several at once"});
  member("share", use.share(), {.help = "part in device_ns of all processes"});
}

void DiskUses::add(const Record& record) {
  const auto raw = record.as<disk_use>();
  if (uses_.size() >= records_max) return;
  uses_.push_back({.disk = std::string(fixed_text(raw.disk)),
                   .comm = std::string(fixed_text(raw.header.comm)),
                   .pid = raw.header.pid,
                   .requests = raw.requests,
                   .bytes = raw.data_bytes,
                   .device_ns = raw.device_ns});
}

std::vector<DiskUse> DiskUses::all() const {
  std::map<std::pair<std::string, std::string>, std::vector<DiskUse>> by_name;
  std::map<std::string, std::uint64_t> disk_ns;
  for (const DiskUse& use : uses_) {
    disk_ns[use.disk] += use.device_ns;
    by_name[{use.disk, without_numbers(use.comm)}].push_back(use);
  }
  std::vector<DiskUse> all;
  for (auto& [name, uses] : by_name) {
    if (uses.size() > processes_apart)
      all.push_back(sum_of(uses, name.second));
    else
      all.insert(all.end(), uses.begin(), uses.end());
  }
  for (DiskUse& use : all) use.disk_ns = disk_ns[use.disk];
  std::ranges::sort(all, [](const DiskUse& one, const DiskUse& other) {
    return std::tie(one.disk, other.device_ns) < std::tie(other.disk, one.device_ns);
  });
  return all;
}

void name_disk_users(WhyCause& cause, const std::vector<DiskUse>& uses,
                     const std::vector<Remark>& limits, const std::vector<Remark>& writers) {
  if (!is_about_disk(cause) || uses.empty()) return;
  const bool is_one_disk =
      std::ranges::all_of(uses, [&](const DiskUse& use) { return use.disk == uses[0].disk; });
  const std::string disk =
      disk_of(cause).empty() && is_one_disk ? uses[0].disk : std::string(disk_of(cause));
  const auto first = std::ranges::find(uses, disk, &DiskUse::disk);
  if (first == uses.end()) return;
  if (const std::uint64_t waited_ns = wait_of_one(cause); first->disk_ns < waited_ns / 10) {
    cause.cause += fmt::format(
        "; {} worked for {} % of this time: the requests are held back on their way to it, as by "
        "{}",
        printable(disk), percent_of(first->disk_ns, waited_ns), limit_of(cause, disk, limits));
    return;
  }
  std::vector<std::string> said;
  bool has_worker = false;
  for (const DiskUse& use : uses) {
    // Requests without data are flushes. Workers of the kernel issue them for other threads.
    if (use.bytes == 0) continue;
    if (use.disk != disk || use.share() < least_part_named || is_waiting(cause, use)) continue;
    if (said.size() == users_named) break;
    has_worker |= is_worker(use);
    said.push_back(fmt::format("{} {:.0f} % ({} in {} requests)", user_name(use), 100 * use.share(),
                               bytes_text(use.bytes), grouped(use.requests)));
  }
  if (!said.empty())
    cause.cause +=
        fmt::format("; meanwhile {} worked for {}", printable(disk), fmt::join(said, ", "));
  if (has_worker && is_written_back_to(disk, uses) && !writers.empty())
    cause.cause += ": data of " + writers_text(writers);
}

}  // namespace overdue

#include "live/memory_limits.h"

#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t reclaimers_max = 100;
constexpr std::uint64_t unlimited = std::uint64_t{1} << 62;  // bytes; version 1 has no word for it

}  // namespace

// The counters are those of the cgroup itself: limits of cgroups below do not count.
const MemoryLimits::Limit MemoryLimits::limits[] = {
    {"memory.max", "memory.current", "memory.events.local", "max ", true},
    {"memory.high", "memory.current", "memory.events.local", "high ", true},
    {"memory.limit_in_bytes", "memory.usage_in_bytes", "memory.failcnt", "", false},
};

std::uint64_t MemoryLimits::count_of(const CgroupTarget& cgroup, const Limit& limit) {
  const auto text = read_text(cgroup.directory / limit.counter);
  if (!text) return 0;
  return (limit.line.empty() ? first_number(*text) : number_behind(*text, limit.line)).value_or(0);
}

MemoryLimits::MemoryLimits(std::filesystem::path proc) : proc_(std::move(proc)), cgroups_(proc_) {
  for (const CgroupHierarchy& hierarchy : cgroups_.hierarchies()) {
    if (!hierarchy.may_have("memory")) continue;
    const auto controllers = read_text(hierarchy.mount_point / "cgroup.controllers");
    if (hierarchy.v2 && !has_word(controllers.value_or(""), "memory")) continue;
    const auto paths = cgroup_paths(hierarchy, cgroups_max);
    has_all_ = has_all_ && paths.size() < cgroups_max;
    for (const auto& [id, path] : paths) {
      const auto cgroup = cgroups_.at(hierarchy, path);
      for (const Limit& limit : limits)
        if (cgroup && cgroup->v2 == limit.v2)
          if (const std::uint64_t count = count_of(*cgroup, limit); count > 0)
            counters_[{hierarchy.id, cgroup->id, limit.file}] = count;
    }
  }
}

/// "reclaims memory of cgroup /web: 64.0 MB of 64.0 MB used (memory.max)".
std::string MemoryLimits::words_of(const CgroupTarget& cgroup) const {
  for (const Limit& limit : limits) {
    if (limit.v2 != cgroup.v2) continue;
    const auto most = first_number(read_word(cgroup.directory / limit.file));
    const auto used = first_number(read_word(cgroup.directory / limit.usage));
    if (!most || !used || *most >= unlimited) continue;
    const auto before = counters_.find({cgroup.hierarchy_id, cgroup.id, limit.file});
    // A cgroup that was not there counts from 0.
    if (before == counters_.end() && !has_all_) continue;
    if (count_of(cgroup, limit) <= (before == counters_.end() ? 0 : before->second)) continue;
    return fmt::format("reclaims memory of cgroup {}: {} of {} used ({})", printable(cgroup.path),
                       bytes_text(*used), bytes_text(*most), limit.file);
  }
  return {};
}

std::vector<Remark> MemoryLimits::reached_by(const std::set<std::uint32_t>& pids) const {
  std::vector<Remark> found;
  if (pids.empty()) return found;
  const ReadRights rights;
  std::map<std::filesystem::path, std::string> words;  // by directory: the usage changes
  std::size_t asked = 0;
  for (const std::uint32_t pid : pids) {
    if (asked++ == reclaimers_max) break;
    const auto text = read_text(proc_ / std::to_string(pid) / "cgroup").value_or("");
    for (const CgroupTarget& cgroup : cgroups_.lineage(parse_memberships(text), "memory")) {
      const auto known = words.find(cgroup.directory);
      const std::string& one =
          known != words.end() ? known->second : words[cgroup.directory] = words_of(cgroup);
      if (one.empty()) continue;
      found.push_back({.id = pid, .words = one});
      break;
    }
  }
  return found;
}

}  // namespace overdue

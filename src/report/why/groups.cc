#include "report/why/groups.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"

namespace overdue {
namespace {

constexpr std::size_t processes_merged = 3;  // from so many on, processes of a name are one group

}  // namespace

std::string group_name(const OffcpuRow& group) {
  if (group.threads == 1) return fmt::format("{}[{}]", printable(group.comm), group.tid);
  return printable(group.comm);
}

std::vector<OffcpuRow> groups_of(const std::vector<OffcpuRow>& threads) {
  std::map<std::string, std::set<std::uint32_t>> processes;
  for (const OffcpuRow& thread : threads)
    processes[key_of(thread, Whose::group).comm].insert(thread.pid);
  std::map<Owner, OffcpuRow> groups;
  for (const OffcpuRow& thread : threads) {
    Owner key = key_of(thread, Whose::group);
    if (processes[key.comm].size() >= processes_merged) key.pid = 0;
    OffcpuRow& group = groups[key];
    group.pid = key.pid;
    group.tid = thread.tid;
    group.comm = group.threads == 0 ? thread.comm : key.comm;
    group.add(thread);
  }
  std::vector<OffcpuRow> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::ranges::sort(all, std::ranges::greater(),
                    [](const OffcpuRow& group) { return group.oncpu_ns + group.waiting_ns(); });
  return all;
}

}  // namespace overdue

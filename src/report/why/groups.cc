#include "report/why/groups.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t processes_merged = 3;  // from so many on, processes of a name are one group

}  // namespace

std::string group_name(const OffcpuRow& group) {
  if (group.threads == 1) return fmt::format("{}[{}]", printable(group.comm), group.tid);
  return printable(group.comm);
}

std::string counted_name(const OffcpuRow& group) {
  if (group.threads == 1) return group_name(group);
  return fmt::format("{} ×{}", group_name(group), grouped(group.threads));
}

std::string row_name(const OffcpuRow& row, Whose by) {
  if (by == Whose::group) return counted_name(row);
  return owner_text(row, by, by == Whose::parent ? row.processes : row.threads);
}

std::string time_bar(const OffcpuRow& row, std::size_t width) {
  const auto cells = [&](std::uint64_t ns) {
    return row.wall_ns == 0 ? 0 : (width * ns + row.wall_ns / 2) / row.wall_ns;
  };
  std::string bar;
  const std::size_t full = std::min<std::size_t>(width, cells(row.oncpu_ns));
  const std::size_t half = std::min<std::size_t>(width - full, cells(row.runnable_ns()));
  for (std::size_t i = 0; i < width; ++i) bar += i < full ? "█" : i < full + half ? "▒" : "·";
  return bar;
}

std::vector<WhyRow> groups_of(const std::vector<OffcpuRow>& threads) {
  std::map<std::string, std::set<std::uint32_t>> processes;
  for (const OffcpuRow& thread : threads)
    processes[key_of(thread, Whose::group).comm].insert(thread.pid);
  std::map<Owner, WhyRow> groups;
  for (const OffcpuRow& thread : threads) {
    Owner key = key_of(thread, Whose::group);
    if (processes[key.comm].size() >= processes_merged) key.pid = 0;
    WhyRow& group = groups[key];
    group.pid = key.pid;
    group.tid = thread.tid;
    group.comm = group.threads == 0 ? thread.comm : key.comm;
    group.add(thread);
  }
  std::vector<WhyRow> all;
  for (auto& [key, group] : groups) all.push_back(std::move(group));
  std::ranges::sort(all, std::ranges::greater(),
                    [](const OffcpuRow& group) { return group.oncpu_ns + group.waiting_ns(); });
  return all;
}

}  // namespace overdue

#include "target/processes.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "base/thread_rights.h"
#include "target/proc.h"

namespace overdue {
namespace {

constexpr std::size_t max_processes = 16384;

std::vector<std::uint32_t> processes_in(const std::filesystem::path& cgroup) {
  std::vector<std::uint32_t> pids;
  const auto read = [&](const std::filesystem::path& folder) {
    std::ifstream list(folder / "cgroup.procs");
    for (std::uint32_t pid = 0; pids.size() < max_processes && list >> pid;) pids.push_back(pid);
  };
  const ReadRights rights;
  read(cgroup);
  std::error_code error;
  for (std::filesystem::recursive_directory_iterator at(cgroup, error), end; !error && at != end;
       at.increment(error))
    if (at->is_directory(error)) read(at->path());
  return pids;
}

}  // namespace

std::vector<std::uint32_t> running_processes(const TargetSelection& selection) {
  const Proc proc;
  if (selection.kind == TargetKind::all) return proc.processes();
  const ResolvedTarget target = resolve_target(selection);
  std::vector<std::uint32_t> pids = target.pids;
  for (const std::uint32_t tid : target.tids)
    if (const auto thread = proc.thread(tid)) pids.push_back(thread->pid);
  for (const CgroupTarget& cgroup : target.cgroups) {
    const auto inside = processes_in(cgroup.directory);
    pids.insert(pids.end(), inside.begin(), inside.end());
  }
  std::ranges::sort(pids);
  pids.erase(std::unique(pids.begin(), pids.end()), pids.end());
  return pids;
}

}  // namespace overdue

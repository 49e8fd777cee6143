#include "live/reached_limits.h"

#include <filesystem>
#include <optional>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "sinks/text_format.h"
#include "target/cgroups.h"
#include "target/proc.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t short_processes_max = 100;
constexpr std::uint64_t descriptors_max = 100'000, processes_max = 50'000;

std::string folder_of(std::uint32_t pid) {
  return fmt::format("/proc/{}", pid);
}

std::string descriptors_text(std::uint32_t pid) {
  const auto limit =
      number_behind(read_text(folder_of(pid) + "/limits").value_or(""), "Max open files");
  if (!limit || *limit > descriptors_max) return {};
  std::uint64_t open = 0;
  std::error_code error;
  const fs::directory_iterator folder(folder_of(pid) + "/fd", error);
  for (auto entry = begin(folder); !error && entry != end(folder) && open <= *limit;
       entry.increment(error))
    ++open;
  if (error || open < *limit) return {};
  return fmt::format("{} of {} descriptors are open (ulimit -n)", grouped(open), grouped(*limit));
}

std::string files_of_machine_text() {
  const std::string text = read_text("/proc/sys/fs/file-nr").value_or("");
  std::string line = text.substr(0, text.find('\n'));
  for (char& c : line)
    if (c == '\t') c = ' ';
  const auto words = split(line, ' ');
  if (words.size() < 3) return {};
  const auto open = first_number(words[0]), limit = first_number(words[2]);
  if (!open || !limit || *open < *limit) return {};
  return fmt::format("{} of {} files are open on the machine (fs.file-max)", grouped(*open),
                     grouped(*limit));
}

/// The cgroup of the process, or the nearest one above it, that may have no more processes.
std::string cgroup_text(std::uint32_t pid) {
  const Cgroups cgroups;
  const auto memberships = parse_memberships(read_text(folder_of(pid) + "/cgroup").value_or(""));
  for (const CgroupTarget& cgroup : cgroups.lineage(memberships, "pids")) {
    const auto limit = first_number(read_word(cgroup.directory / "pids.max"));
    const auto present = first_number(read_word(cgroup.directory / "pids.current"));
    if (limit && present && *present >= *limit)
      return fmt::format("cgroup {} has {} of {} processes and threads (pids.max)",
                         printable(cgroup.path), grouped(*present), grouped(*limit));
  }
  return {};
}

/// Whether the user of the process has as many processes and threads as the process's limit.
std::string user_text(std::uint32_t pid) {
  const auto limit =
      number_behind(read_text(folder_of(pid) + "/limits").value_or(""), "Max processes");
  const auto user = number_behind(read_text(folder_of(pid) + "/status").value_or(""), "Uid:");
  if (!limit || !user || *user == 0) return {};
  std::uint64_t threads = 0, seen = 0;
  for (const std::uint32_t other : Proc().processes()) {
    if (++seen > processes_max) return {};
    const std::string status = read_text(folder_of(other) + "/status").value_or("");
    if (number_behind(status, "Uid:") == user)
      threads += number_behind(status, "Threads:").value_or(0);
  }
  if (threads < *limit) return {};
  return fmt::format("user {} has {} processes and threads, and may have {} (ulimit -u)", *user,
                     grouped(threads), grouped(*limit));
}

std::string limit_text(std::uint32_t pid, Shortage shortage) {
  switch (shortage) {
    case Shortage::descriptors:
      return descriptors_text(pid);
    case Shortage::files:
      return files_of_machine_text();
    case Shortage::processes: {
      std::string text = cgroup_text(pid);
      return text.empty() ? user_text(pid) : text;
    }
    case Shortage::none:
    case Shortage::other:
      break;
  }
  return {};
}

}  // namespace

std::vector<Remark> reached_limits(const std::map<std::uint32_t, Shortage>& processes) {
  std::vector<Remark> found;
  if (processes.empty()) return found;
  const ReadRights rights;
  std::size_t asked = 0;
  for (const auto& [pid, shortage] : processes) {
    if (asked++ == short_processes_max) break;
    if (std::string words = limit_text(pid, shortage); !words.empty())
      found.push_back({.id = pid, .words = std::move(words)});
  }
  return found;
}

}  // namespace overdue

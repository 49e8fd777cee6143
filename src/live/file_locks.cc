#include "live/file_locks.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::size_t lock_lines_max = 10'000, lock_waiters_max = 100, locked_files_max = 10'000;

/// A file, as /proc/locks names it: the device and the inode.
using File = std::string;

/// The devices of the mounts that a process sees, by their number.
std::map<std::string, std::string> devices_of_mounts(std::uint32_t pid) {
  std::map<std::string, std::string> devices;
  std::ifstream mounts(fmt::format("/proc/{}/mountinfo", pid));
  std::string line;
  for (std::size_t i = 0; i < lock_lines_max && std::getline(mounts, line); ++i) {
    std::array<char, 32> number{};
    unsigned major = 0, minor = 0;
    // "29 1 254:0 / / rw,relatime …"
    if (std::sscanf(line.c_str(), "%31s %*s %u:%u", number.data(), &major, &minor) == 3)
      devices[number.data()] = fmt::format("{:02x}:{:02x}", major, minor);
  }
  return devices;
}

/// The file of a descriptor, without a call of its file system, which may not answer.
File file_of(const std::filesystem::path& information,
             const std::map<std::string, std::string>& devices) {
  std::ifstream file(information);
  std::string word, mount, inode;
  while (file >> word)
    if (word == "mnt_id:")
      file >> mount;
    else if (word == "ino:")
      file >> inode;
  const auto device = devices.find(mount);
  return inode.empty() || device == devices.end() ? "" : device->second + ":" + inode;
}

/// The holders of the locks of each file.
std::multimap<File, std::uint32_t> held_locks() {
  std::multimap<File, std::uint32_t> held;
  std::ifstream locks("/proc/locks");
  std::string line;
  for (std::size_t i = 0; i < lock_lines_max && std::getline(locks, line); ++i) {
    if (line.find("->") != std::string::npos) continue;  // waits for the one above
    std::array<char, 64> file{};
    long pid = 0;
    // "1: FLOCK  ADVISORY  WRITE 4711 fe:00:1234 0 EOF"
    if (std::sscanf(line.c_str(), "%*s %*s %*s %*s %ld %63s", &pid, file.data()) == 2 && pid > 0)
      held.emplace(file.data(), static_cast<std::uint32_t>(pid));
  }
  return held;
}

void add_locks_of(std::uint32_t pid, const std::multimap<File, std::uint32_t>& held,
                  std::vector<FileLock>& found) {
  std::error_code error;
  std::size_t seen = 0;
  const std::map<std::string, std::string> devices = devices_of_mounts(pid);
  std::set<std::pair<File, std::uint32_t>> known;
  const std::filesystem::directory_iterator folder(fmt::format("/proc/{}/fdinfo", pid), error);
  for (auto entry = begin(folder); !error && entry != end(folder) && seen++ < locked_files_max;
       entry.increment(error)) {
    const File file = file_of(entry->path(), devices);
    const auto [first, last] = held.equal_range(file);
    for (auto lock = first; lock != last; ++lock) {
      if (lock->second == pid || !known.emplace(file, lock->second).second) continue;
      std::error_code unreadable;
      const std::filesystem::path link =
          fmt::format("/proc/{}/fd/{}", pid, entry->path().filename().string());
      found.push_back({.wanted_by = pid,
                       .holder = {lock->second, lock->second,
                                  read_word(fmt::format("/proc/{}/comm", lock->second))},
                       .path = std::filesystem::read_symlink(link, unreadable).string()});
    }
  }
}

}  // namespace

std::vector<FileLock> file_locks_of(const std::set<std::uint32_t>& pids) {
  std::vector<FileLock> found;
  if (pids.empty()) return found;
  const ReadRights rights;
  const std::multimap<File, std::uint32_t> held = held_locks();
  std::size_t processes = 0;
  for (const std::uint32_t pid : pids) {
    if (processes++ == lock_waiters_max) break;
    add_locks_of(pid, held, found);
  }
  return found;
}

}  // namespace overdue

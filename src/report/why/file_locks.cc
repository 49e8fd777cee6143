#include "report/why/file_locks.h"

#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/text.h"
#include "source/kept_options.h"

namespace overdue {
namespace {

constexpr std::uint64_t locks_max = 100;
constexpr std::uint64_t pid_max = UINT32_MAX;
constexpr std::size_t path_max = 4096, comm_max = 64;

std::string text_of(const SessionInfo& info, const std::string& name, std::size_t limit) {
  const auto found = info.options.find(name);
  return found == info.options.end() ? "" : made_printable(found->second, limit);
}

}  // namespace

void keep_file_locks(const std::vector<FileLock>& locks, SessionInfo& info) {
  std::size_t number = 0;
  for (const FileLock& lock : locks) {
    if (number == locks_max) break;
    const std::string key = fmt::format("file_lock_{}", number++);
    info.options[key + "_wanted_by"] = std::to_string(lock.wanted_by);
    info.options[key + "_holder"] = std::to_string(lock.holder.pid);
    info.options[key + "_comm"] = printable(lock.holder.comm);
    info.options[key + "_path"] = printable(lock.path);
  }
  info.options["file_locks"] = std::to_string(number);
}

std::vector<FileLock> kept_file_locks(const SessionInfo& info) {
  std::vector<FileLock> locks;
  const std::uint64_t count = kept_number(info.options, "file_locks", 0, locks_max);
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::string key = fmt::format("file_lock_{}", i);
    const auto pid = [&](const char* name) {
      return static_cast<std::uint32_t>(kept_number(info.options, key + name, 0, pid_max));
    };
    const std::uint32_t holder = pid("_holder");
    locks.push_back({.wanted_by = pid("_wanted_by"),
                     .holder = {holder, holder, text_of(info, key + "_comm", comm_max)},
                     .path = text_of(info, key + "_path", path_max)});
  }
  return locks;
}

}  // namespace overdue

#include "live/other_sides.h"

#include <sys/syscall.h>

#include <algorithm>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "live/freezer.h"
#include "live/lock_owner.h"
#include "sinks/finding_words.h"
#include "sinks/text_format.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t waits_max = 100, hops_max = 4;

std::string name_of(const ThreadStatus& thread) {
  return thread_text({thread.pid, thread.tid, thread.comm});
}

/// The target of a descriptor's link: a path, "pipe:[12]"; empty: it cannot be read. A link of
/// /proc is read without a call of the file's file system, which may not answer.
std::string link_of(std::uint32_t pid, std::uint64_t fd) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/{}/fd/{}", pid, fd), error).string();
}

/// What a thread does at present: "sleeps", "waits in read(3</srv/x>)".
std::string activity_of(const ThreadStatus& thread) {
  if (thread.state == 'T') return "is stopped";
  if (thread.state == 't') return "is stopped by a tracer";
  const auto call = present_call(thread.pid, thread.tid);
  if (!call) return thread.state == 'R' ? "runs" : "waits";
  const std::string_view name = builtin_syscall_name(ABI_NATIVE, call->number);
  if (call->number == SYS_nanosleep || call->number == SYS_clock_nanosleep) return "sleeps";
  if (call->number == SYS_wait4 || call->number == SYS_waitid) return "waits for a child";
  if (call->number != SYS_read && call->number != SYS_write)
    return fmt::format("waits in {}", name.empty() ? "a call" : name);
  return fmt::format("waits in {}({}<{}>)", name, call->arguments[0],
                     link_of(thread.pid, call->arguments[0]));
}

/// The title of a process, without the room that is left behind it.
std::string title_of(const std::string& folder) {
  std::string text = read_text(folder + "/cmdline").value_or("");
  while (!text.empty() && (text.back() == '\0' || text.back() == ' ')) text.pop_back();
  return text;
}

/// The parent of a process; 0: not known.
std::uint32_t parent_of(const std::string& folder) {
  const std::string line = read_text(folder + "/stat").value_or("");
  std::uint32_t parent = 0;
  const std::size_t name_end = line.rfind(')');
  if (name_end == line.npos || std::sscanf(line.c_str() + name_end, ") %*c %u", &parent) != 1)
    return 0;
  return parent;
}

/// The session of a PostgreSQL server that must hold the lock for which the session `pid` waits:
/// the only one that is in a transaction, by the titles of the processes. It is idle there. Words
/// are empty if several may hold the lock.
OtherSide transaction_before(std::uint32_t pid) {
  const std::uint32_t server = parent_of(fmt::format("/proc/{}", pid));
  std::vector<std::string> idle;
  std::error_code error;
  if (server == 0) return {};
  const fs::directory_iterator processes("/proc", error);
  for (auto entry = begin(processes); !error && entry != end(processes); entry.increment(error)) {
    const std::string folder = entry->path().string();
    if (parent_of(folder) != server) continue;
    const std::string title = title_of(folder);
    const bool is_session = title.find("[local]") != title.npos || title.find('(') != title.npos ||
                            title.find("autovacuum worker") != title.npos;
    if (!is_session || title.ends_with(" idle") || title.ends_with(" waiting")) continue;
    if (!title.ends_with(" idle in transaction")) return {};
    idle.push_back(fmt::format("postgres[{}]", entry->path().filename().string()));
  }
  if (idle.size() != 1) return {};
  return {.words = idle.front() + " is idle in a transaction", .by = idle.front()};
}

/// The numbers in /proc/PID/stat of a process that a signal has stopped, from the parent's pid on;
/// empty if no signal has.
std::vector<std::int64_t> numbers_of_stopped(std::uint32_t pid) {
  const std::string line = read_text(fmt::format("/proc/{}/stat", pid)).value_or("");
  std::vector<std::int64_t> numbers;
  const std::size_t name_end = line.rfind(')');
  if (name_end == line.npos || !line.substr(name_end).starts_with(") T ")) return numbers;
  for (const std::string_view word : split(std::string_view(line).substr(name_end + 4), ' '))
    numbers.push_back(std::strtoll(std::string(word).c_str(), nullptr, 10));
  return numbers;
}

/// The tracer of a thread that it has stopped: "traced by gdb[7]". Empty: none.
std::string tracer_of(const OpenWait& wait) {
  const std::string path = fmt::format("/proc/{}/task/{}/status", wait.pid, wait.tid);
  const std::uint64_t tracer =
      number_behind(read_text(path).value_or(""), "TracerPid:").value_or(0);
  const auto thread = Proc().thread(static_cast<std::uint32_t>(tracer));
  return tracer != 0 && thread ? fmt::format("traced by {}", name_of(*thread)) : "";
}

/// The signal that stopped a process, and for a process of the background what it did to its
/// terminal; or the cgroup that is frozen. Empty: not known.
std::string stop_reason(const OpenWait& wait) {
  constexpr std::size_t group = 1, terminal_number = 3, foreground = 4, exit_code = 48;
  const std::vector<std::int64_t> numbers = numbers_of_stopped(wait.pid);
  if (numbers.size() <= foreground) {
    std::string tracer = tracer_of(wait);
    return tracer.empty() ? freezer_text(wait.pid) : tracer;
  }
  const auto call = present_call(wait.pid, wait.tid);
  const std::string file = call ? link_of(wait.pid, call->arguments[0]) : "";
  const bool is_terminal = file.starts_with("/dev/pts/") || file.starts_with("/dev/tty");
  if (is_terminal && numbers[terminal_number] != 0 && numbers[group] != numbers[foreground]) {
    if (call->number == SYS_read)
      return fmt::format("a read of {} in the background stops a process (SIGTTIN)", file);
    return fmt::format("a {} of {} in the background stops a process (SIGTTOU)",
                       call->number == SYS_write ? "write" : "change", file);
  }
  // The kernel forgets the signal once the parent has asked for it.
  if (numbers.size() <= exit_code || numbers[exit_code] <= 0 || numbers[exit_code] >= NSIG)
    return {};
  const char* const name = sigabbrev_np(static_cast<int>(numbers[exit_code]));
  return name ? fmt::format("by SIG{}", name) : "";
}

class Search {
 public:
  explicit Search(const std::vector<OpenWait>& waits) {
    for (const OpenWait& wait : waits)
      if (waits_.size() < waits_max) waits_.emplace(wait.tid, wait);
  }

  std::vector<OtherSide> sides() {
    std::vector<OtherSide> found;
    for (const auto& [tid, wait] : waits_) {
      OtherSide side;
      if (wait.is_stopped)
        side.words = stop_reason(wait);
      else
        side = wait.lock == LibraryLock::postgres ? transaction_before(wait.pid) : owners_of(wait);
      side.tid = tid;
      if (!side.words.empty()) found.push_back(std::move(side));
    }
    return found;
  }

 private:
  OtherSide owners_of(const OpenWait& wait) const;

  std::map<std::uint32_t, OpenWait> waits_;  // by tid
};

/// The owner of the lock, and if the owner waits for a lock too, that lock's, and so on.
OtherSide Search::owners_of(const OpenWait& wait) const {
  OtherSide side;
  OpenWait present = wait;
  std::vector<std::uint32_t> seen = {wait.tid};
  for (std::size_t hop = 0; hop < hops_max; ++hop) {
    const auto owner = lock_owner(present);
    if (!owner) return side;
    const std::string link = side.words.empty() ? "held by " : ", which waits for a lock of ";
    if (!owner->thread) {
      side.words += link + counted(owner->readers, "reader");
      return side;
    }
    side.words += link + name_of(*owner->thread);
    if (std::ranges::find(seen, owner->thread->tid) != seen.end()) {
      side.words += ": a deadlock";
      return side;
    }
    side.by = name_of(*owner->thread);
    seen.push_back(owner->thread->tid);
    const auto next = waits_.find(owner->thread->tid);
    if (next == waits_.end() || next->second.lock == LibraryLock::none) {
      side.words += ", which " + activity_of(*owner->thread);
      return side;
    }
    present = next->second;
  }
  return side;
}

}  // namespace

std::vector<OtherSide> other_sides_of(const std::vector<OpenWait>& waits) {
  if (waits.empty()) return {};
  const ReadRights rights;
  return Search(waits).sides();
}

}  // namespace overdue

#include "live/other_sides.h"

#include <sys/syscall.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/text.h"
#include "base/thread_rights.h"
#include "live/lock_owner.h"
#include "sinks/finding_words.h"
#include "sinks/text_format.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t waits_max = 100, hops_max = 4, links_max = 200'000, ends_named = 2;

std::string name_of(const ThreadStatus& thread) {
  return thread_text({thread.pid, thread.tid, thread.comm});
}

/// The target of a descriptor's link: a path, "pipe:[12]"; empty: it cannot be read. A link of
/// /proc is read without a call of the file's file system, which may not answer.
std::string link_of(std::uint32_t pid, std::uint64_t fd) {
  std::error_code error;
  return fs::read_symlink(fmt::format("/proc/{}/fd/{}", pid, fd), error).string();
}

/// An open file, as /proc/PID/fdinfo has it.
struct Descriptor {
  unsigned flags = 0;
  std::string inode;
};

Descriptor descriptor_of(std::uint32_t pid, std::uint64_t fd) {
  Descriptor found;
  std::ifstream information(fmt::format("/proc/{}/fdinfo/{}", pid, fd));
  std::string word;
  while (information >> word)
    if (word == "flags:")
      information >> std::oct >> found.flags >> std::dec;
    else if (word == "ino:")
      information >> found.inode;
  return found;
}

/// A text that is equal for the descriptors of one pipe. A pipe with a name has its path as link.
std::string pipe_behind(std::uint32_t pid, std::uint64_t fd) {
  return link_of(pid, fd) + descriptor_of(pid, fd).inode;
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

class Search {
 public:
  explicit Search(const std::vector<OpenWait>& waits) {
    for (const OpenWait& wait : waits)
      if (waits_.size() < waits_max) waits_.emplace(wait.tid, wait);
  }

  std::vector<OtherSide> sides() {
    std::vector<OtherSide> found;
    for (const auto& [tid, wait] : waits_) {
      OtherSide side = wait.is_pipe ? pipe_of(wait) : owners_of(wait);
      side.tid = tid;
      if (!side.words.empty()) found.push_back(std::move(side));
    }
    return found;
  }

 private:
  OtherSide owners_of(const OpenWait& wait) const;
  OtherSide pipe_of(const OpenWait& wait);

  /// An open end of a pipe.
  struct End {
    std::uint32_t pid = 0;
    bool reads = false, writes = false;
  };

  using Ends = std::multimap<std::string, End>;  // by pipe_behind()
  static Ends find_ends();
  const Ends& ends() {
    if (!ends_) ends_ = find_ends();
    return *ends_;
  }

  std::map<std::uint32_t, OpenWait> waits_;  // by tid
  std::optional<Ends> ends_;                 // looked for once
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

/// The ends of all pipes of the machine. A pipe with a name has its path as link.
Search::Ends Search::find_ends() {
  Ends ends;
  std::size_t links = 0;
  for (const std::uint32_t pid : Proc().processes()) {
    std::error_code error;
    const fs::directory_iterator folder(fmt::format("/proc/{}/fd", pid), error);
    for (auto entry = begin(folder); !error && entry != end(folder); entry.increment(error)) {
      if (links++ == links_max) return ends;
      const auto fd = parse_u32(entry->path().filename().string());
      if (!fd) continue;
      std::string link = link_of(pid, *fd);
      if (!link.starts_with("pipe:") && !link.starts_with('/')) continue;
      const Descriptor open = descriptor_of(pid, *fd);
      constexpr unsigned mode_mask = 3, only_reads = 0, only_writes = 1;
      ends.emplace(std::move(link) + open.inode,
                   End{.pid = pid,
                       .reads = (open.flags & mode_mask) != only_writes,
                       .writes = (open.flags & mode_mask) != only_reads});
    }
  }
  return ends;
}

OtherSide Search::pipe_of(const OpenWait& wait) {
  const auto call = present_call(wait.pid, wait.tid);
  if (!call) return {};
  const bool reads = call->number == SYS_read || call->number == SYS_readv;
  if (!reads && call->number != SYS_write && call->number != SYS_writev) return {};
  const std::string pipe = pipe_behind(wait.pid, call->arguments[0]);
  std::vector<std::string> names, said;
  std::size_t others = 0;
  const auto [first, last] = ends().equal_range(pipe);
  for (auto end = first; end != last; ++end) {
    if (end->second.pid == wait.pid || !(reads ? end->second.writes : end->second.reads)) continue;
    const auto process = Proc().thread(end->second.pid);
    if (!process || std::ranges::find(names, name_of(*process)) != names.end()) continue;
    names.push_back(name_of(*process));
    if (said.size() < ends_named)
      said.push_back(fmt::format("{}, which {}", names.back(), activity_of(*process)));
    else
      ++others;
  }
  OtherSide side;
  if (said.empty()) return side;
  side.words = fmt::format("{} {}{}", reads ? "written by" : "read by", fmt::join(said, ", and "),
                           others == 0 ? "" : " and " + counted(others, "other"));
  if (names.size() == 1) side.by = names.front();
  return side;
}

}  // namespace

std::vector<OtherSide> other_sides_of(const std::vector<OpenWait>& waits) {
  if (waits.empty()) return {};
  const ReadRights rights;
  return Search(waits).sides();
}

}  // namespace overdue

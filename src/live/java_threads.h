#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/record.h"
#include "kernel/mmap_events.h"
#include "resolve/resolver.h"
#include "target/proc.h"

namespace overdue {

/// Finds the virtual machines of Java, and keeps the names of their threads whole: the kernel cuts
/// a name after 15 bytes. Used by one thread.
class JavaThreads {
 public:
  explicit JavaThreads(Proc proc = Proc()) : proc_(std::move(proc)) {}

  /// Processes of the target; none: all processes that run java(1).
  void note_target(const std::vector<std::uint32_t>& pids);
  void note(const ProcessEvent& event);
  /// Asks for the names of the threads: once a second, and less often where asking takes longer
  /// than a fiftieth of the time.
  void look(Resolver& resolver, KernelTime now);
  /// Also names of threads that have ended.
  void add_to(Names& names) const;
  /// Whether there are names that were not there at the last call.
  bool take_news() { return std::exchange(has_news_, false); }

 private:
  struct Thread {
    std::string comm;
    std::string name;  ///< empty: not known, or not longer
    unsigned tries = 0;
  };

  bool look_at(pid_t pid, Resolver& resolver);
  std::vector<NamedThread> new_threads(pid_t pid, std::map<std::uint32_t, std::uint32_t>& tids);

  Proc proc_;
  KernelTime next_{};
  bool has_news_ = false;
  std::set<pid_t> machines_;
  std::map<std::uint32_t, Thread> threads_;  ///< by tid, as Overdue knows it
};

/// The last number of the line `NSpid:` of /proc/PID/status: the id in the process's own PID
/// namespace. Nothing if the line is missing.
std::optional<std::uint32_t> id_in_namespace(std::string_view status);

}  // namespace overdue

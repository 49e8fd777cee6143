#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/time.h"
#include "bpf/python.h"
#include "core/process_event.h"
#include "resolve/resolver.h"
#include "source/listener.h"

namespace overdue {

/// Finds the interpreters of Python in processes, so that BPF programs follow their frames. Used by
/// one thread.
class PythonPrograms {
 public:
  /// `learn` gets each interpreter.
  void teach(LearnPython learn) { learn_ = std::move(learn); }
  /// The processes of the target; none: all of the machine with a program of Python's name.
  void note_target(const std::vector<std::uint32_t>& pids);
  void note(const ProcessEvent& event);
  /// Looks at the process unless that was done since its last exec.
  void look_at(pid_t pid, Resolver& resolver);
  /// Looks at the processes that were noted since the last call, and again at those that could not
  /// be read: a process that is within its execve, or has just begun, cannot be.
  void look_at_new(Resolver& resolver, KernelTime now);

  /// Notes for the reader of a report.
  std::vector<std::string> notes() const;

 private:
  struct Look {
    bool has_name = false;  ///< a file of Python's name is mapped
    unsigned tries = 0;
    KernelTime next{};  ///< not before
  };

  /// What is known of the process; nothing if it has to be looked at again.
  std::optional<PythonSupport> look(pid_t pid, Resolver& resolver);
  void look_or_try_later(pid_t pid, Resolver& resolver, Look look);

  LearnPython learn_;
  std::map<pid_t, Look> waiting_;
  std::unordered_set<pid_t> seen_;
  std::uint64_t unknown_versions_ = 0, free_threaded_ = 0, unreadable_ = 0;
};

/// The program in the text of a /proc/PID/stat; nothing if the kernel hides its addresses.
std::optional<python_program> program_in_stat(std::string_view text);

}  // namespace overdue

#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "core/finding.h"
#include "target/spawn.h"

namespace overdue {

/// What `--on` asks for, once for each finding.
struct ActionOptions {
  std::string command;         ///< exec:COMMAND, empty: none
  std::optional<int> signal;   ///< signal:NAME
  bool mark = false;           ///< a line for the kernel's own trace
  bool stop = false;           ///< ends the session
  Duration every{};            ///< exec, signal and mark at most once in this time, each
  InheritedState inherited{};  ///< for the command
};

/// Throws Error (exit status 2) for what is no action.
ActionOptions parse_actions(const std::vector<std::string>& values);

/// Whether the process of a finding may have got its id from another that has ended since: a
/// process that began at `started`, to the next lower hundredth of a second.
bool may_be_another(KernelTime started, KernelTime finding);

/// Does what is to be done on findings, without ever waiting for any of it. What a limit left out
/// is counted.
class Actions {
 public:
  /// Throws Error where an action cannot be done here at all.
  explicit Actions(ActionOptions options);
  /// Ends the command that runs.
  ~Actions();
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  void finding(const Finding& finding);
  /// To be called now and then: takes in what has ended.
  void tick();
  bool wants_stop() const { return stop_; }
  std::vector<std::string> notes() const;

 private:
  struct Limit {
    std::uint64_t done = 0, left_out = 0, failed = 0;
    std::string why_failed;  ///< the first
    KernelTime next{};
  };

  bool may(Limit& limit) const;
  void run_command(const Finding& finding);
  void send_signal(int number, const Finding& finding);
  void write_mark(const Finding& finding);

  ActionOptions options_;
  Limit exec_, signal_, mark_;
  std::uint64_t commands_failed_ = 0;  ///< ended with another status than 0
  Fd marker_;
  std::unique_ptr<SpawnedProgram> running_;
  bool stop_ = false;
};

}  // namespace overdue

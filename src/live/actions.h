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

/// The actions of `--on`, each done once per finding.
struct ActionOptions {
  std::string command;         ///< COMMAND of exec:COMMAND; empty: none
  std::optional<int> signal;   ///< number of the signal of signal:NAME
  bool mark = false;           ///< writes a line to the kernel's own trace
  bool stop = false;           ///< ends the session
  Duration every{};            ///< shortest time between two of exec, of signal, of mark
  InheritedState inherited{};  ///< signals and limits of the command
};

/// Throws Error (exit status 2) for an unknown action.
ActionOptions parse_actions(const std::vector<std::string>& values);

/// Whether the process that has a finding's process id now may be another than the finding's: its
/// id may be reused. `started`: when the process began, rounded down to a hundredth of a second.
bool may_be_another(KernelTime started, KernelTime finding);

/// Performs the actions of findings and never waits for one. Counts the actions that a limit left
/// out.
class Actions {
 public:
  /// Throws Error if an action is impossible on this machine.
  explicit Actions(ActionOptions options);
  /// Ends the running command, if any.
  ~Actions();
  Actions(const Actions&) = delete;
  Actions& operator=(const Actions&) = delete;

  void finding(const Finding& finding);
  /// Notices the end of the running command. Call it regularly.
  void tick();
  bool wants_stop() const { return stop_; }
  std::vector<std::string> notes() const;

 private:
  struct Limit {
    std::uint64_t done = 0, left_out = 0, failed = 0;
    std::string why_failed;  ///< reason of the first failure
    KernelTime next{};
  };

  bool may(Limit& limit) const;
  void run_command(const Finding& finding);
  void send_signal(int number, const Finding& finding);
  void write_mark(const Finding& finding);

  ActionOptions options_;
  Limit exec_, signal_, mark_;
  std::uint64_t commands_failed_ = 0;  ///< commands with an exit status other than 0
  Fd marker_;
  std::unique_ptr<SpawnedProgram> running_;
  bool stop_ = false;
};

}  // namespace overdue

#pragma once

#include <signal.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "target/identity.h"
#include "target/spawn.h"

namespace overdue {

/// How far the child had come when it reported.
enum class GateStage : std::int32_t { waiting, user, search, exec };

/// What the child tells its parent through the report pipe, at the gate and where execve fails.
struct GateReport {
  GateStage stage;
  std::int32_t error;      ///< positive errno; 0 with `waiting`
  std::int32_t candidate;  ///< index of the path concerned
};

/// Everything the child needs between fork and execve, prepared by the parent: behind the fork of a
/// process that may have threads, nothing may be allocated. Pointers into the strings live as long
/// as the plan; it is not copied.
class GatePlan {
 public:
  GatePlan(const std::vector<std::string>& argv, std::optional<Identity> identity,
           const SpawnOptions& options);
  GatePlan(const GatePlan&) = delete;
  GatePlan& operator=(const GatePlan&) = delete;

  /// The files that may be meant by argv[0], in order of preference; one where it has a slash.
  const std::vector<std::string>& candidates() const { return candidates_; }

  /// The child's part: becomes the user, finds the program, reports, reads one byte from `gate` and
  /// executes. At the end of file of `gate` it ends. Only async-signal-safe calls.
  [[noreturn]] void run_child(int gate, int reports);

 private:
  void restore_signals() const;
  int become_user() const;
  void become_helper() const;
  int choose_candidate(int& error) const;

  std::vector<std::string> candidates_;
  bool searched_;  ///< argv[0] was looked for in PATH
  std::vector<std::string> environment_;
  std::vector<char*> argv_pointers_;
  std::vector<char*>
      shell_pointers_;  ///< /bin/sh, the script (filled in by the child), its arguments
  std::vector<char*> environment_pointers_;
  std::optional<Identity> identity_;
  std::optional<InheritedState> inherited_;
  int helper_input_;
  char shell_[8] = "/bin/sh";
};

}  // namespace overdue

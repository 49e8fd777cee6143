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

/// The child's progress at the time of its report.
enum class GateStage : std::int32_t { waiting, user, search, exec };

/// The child's report to its parent through the report pipe: at the gate, or when a stage fails.
struct GateReport {
  GateStage stage;
  std::int32_t error;      ///< positive errno value; 0 for `waiting`
  std::int32_t candidate;  ///< index into GatePlan::candidates()
};

/// Everything the child needs between fork and execve. The parent prepares it, because the child of
/// a process that may have threads must not allocate. The plan points into its own strings and into
/// `argv`, which must outlive it; the plan is not copied.
class GatePlan {
 public:
  GatePlan(const std::vector<std::string>& argv, std::optional<Identity> identity,
           const SpawnOptions& options);
  GatePlan(const GatePlan&) = delete;
  GatePlan& operator=(const GatePlan&) = delete;

  /// The files that argv[0] may stand for, in the order of PATH; one file if argv[0] contains a
  /// slash.
  const std::vector<std::string>& candidates() const { return candidates_; }

  /// The child's part: becomes the user, finds the program, reports, reads one byte from `gate` and
  /// executes the program. Exits at the end of file of `gate`. Makes only async-signal-safe calls.
  [[noreturn]] void run_child(int gate, int reports);

 private:
  void restore_signals() const;
  int become_user() const;
  void become_helper() const;
  int choose_candidate(int& error) const;

  std::vector<std::string> candidates_;
  bool searched_;  ///< argv[0] is searched for in PATH
  std::vector<std::string> environment_;
  std::vector<char*> argv_pointers_;
  /// /bin/sh, the script (filled in by the child), its arguments
  std::vector<char*> shell_pointers_;
  std::vector<char*> environment_pointers_;
  std::optional<Identity> identity_;
  std::optional<InheritedState> inherited_;
  int helper_input_;
  char shell_[8] = "/bin/sh";
};

}  // namespace overdue

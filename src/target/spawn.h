#pragma once

#include <signal.h>
#include <sys/resource.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/time.h"
#include "target/suspension.h"

namespace overdue {

/// The state that a program inherits from the process that starts it, and that Overdue may change
/// for itself. Overdue takes the state at the start of main() and gives it to the program, so that
/// `nohup overdue … -- CMD` starts CMD as `nohup CMD` does.
struct InheritedState {
  sigset_t blocked{};
  sigset_t ignored{};
  rlimit open_files{};
  rlimit locked_memory{};
  rlimit stack{};

  /// The state of this process now.
  static InheritedState current();
};

struct SpawnOptions {
  std::optional<std::string> user = {};  ///< --user
  /// Without a value, no signal is blocked or ignored, and the limits stay as they are.
  std::optional<InheritedState> inherited = {};
  /// Standard input of a helper; -1 for a measured program. A helper writes all output to Overdue's
  /// standard error, leads a session and a process group of its own, and dies with Overdue.
  int helper_input = -1;
};

/// A program that Overdue starts and holds at a gate, so that the target can include it before it
/// runs: after release(), the next system call of the child is execve. The program runs with the
/// rights of the invoking user (choose_identity()), in Overdue's process group and session, with
/// Overdue's environment, directory and standard streams. It inherits Overdue's other descriptors
/// unless they are close-on-exec.
///
/// ^Z stops the program first, then Overdue (Suspension).
///
/// The gate is a pipe. If Overdue dies before release(), for whatever reason, the waiting child
/// ends without running the program. If Overdue dies after release(), the program runs on unharmed.
///
/// Used from one thread. It is no error if the program is killed, stopped and continued, or gone
/// while Overdue waits for it.
class SpawnedProgram {
 public:
  /// Forks and waits until the child is at the gate, 10 seconds at most. `argv[0]` without a slash
  /// is searched for in PATH, with the rights of the user the program will run as. /bin/sh runs a
  /// text file without `#!`, as for execvp() and shells. Resets an ignored SIGCHLD to the default;
  /// otherwise the exit status would be lost. Throws Error with exit status 127 (not found, empty
  /// name), 126 (found, but not executable) or 125 (anything else).
  explicit SpawnedProgram(std::vector<std::string> argv, const SpawnOptions& options = {});

  /// Before release(): ends and reaps the child. After release(): leaves the program running.
  ~SpawnedProgram();

  SpawnedProgram(const SpawnedProgram&) = delete;
  SpawnedProgram& operator=(const SpawnedProgram&) = delete;

  /// The process id of the program, and the thread id of its first thread.
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  /// The file that will be executed.
  const std::string& path() const { return path_; }

  /// Readable once the program has ended. Owned by this object.
  int pidfd() const { return pidfd_.get(); }

  /// Opens the gate and waits until the program runs, one second at most: a stopped child runs it
  /// later. Throws Error (exit status 126 or 127) if execve fails; the child is then gone. A child
  /// that was killed at the gate is no error: wait() returns its status. Call once.
  void release();

  /// The exit status, or 128 + signal, once the program has ended; nothing while it runs or is
  /// stopped. Throws like release() if execve fails after release() has returned.
  std::optional<int> try_wait();

  /// CPU time of the program and of the children it has waited for, once the program is reaped; 0
  /// before.
  Duration cpu_used() const { return cpu_used_; }

  /// Blocks until the program has ended.
  int wait();

  /// Sends `signal`; returns false if the program has ended. The terminal itself sends ^C to the
  /// program: forward only signals that came from a process (siginfo's si_code is SI_USER, not
  /// SI_KERNEL).
  bool forward(int signal);

 private:
  void end_child() noexcept;
  /// `status` is a wait status as from waitpid(); returns the exit status of a shell.
  int has_ended(int status, const rusage& used);
  void learn_of_start(Duration patience);

  std::vector<std::string> argv_;
  std::string path_;
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd gate_;         ///< writer of the gate; closing it ends a waiting child
  Fd gate_reader_;  ///< the child's end, kept so that release() never meets a broken pipe
  Fd reports_;      ///< the child's reports before execve; end of file once execve has succeeded
  std::optional<Suspension> suspension_;  ///< while the program runs; none for a helper
  std::optional<int> status_;
  Duration cpu_used_{};
};

}  // namespace overdue

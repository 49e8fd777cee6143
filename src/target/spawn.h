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

/// What a program inherits from its starter and we may have changed for ourselves: taken at the
/// start of main(), given to the program, so that `nohup overdue … -- CMD` starts CMD as `nohup
/// CMD` does.
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
  /// Nothing: no signal blocked or ignored, limits as they are.
  std::optional<InheritedState> inherited = {};
  /// A helper of ours rather than a program that is measured: it reads from this descriptor, says
  /// what it says on our standard error, leads a process group of its own, and dies with us.
  int helper_input = -1;
};

/// A program started by us and held back behind a gate, so that it can be adopted before it does
/// anything: after release() its next system call is execve. It runs with the rights of the
/// invoking user (choose_identity()), in our process group and session, with our environment,
/// directory and standard streams; of our other descriptors it gets those that are not
/// close-on-exec.
///
/// ^Z stops the program first, and then us (Suspension).
///
/// The gate is a pipe. If we die before release(), whatever kills us, the waiting child ends
/// without having run the program; if we die after it, the program goes on unharmed.
///
/// Used from one thread. A program killed while we wait for it, stopped and continued, or gone, is
/// not an error.
class SpawnedProgram {
 public:
  /// Forks and waits until the child stands at the gate. `argv[0]` without a slash is looked for in
  /// PATH, with the rights of the user it will run as. A text file without `#!` is run by /bin/sh,
  /// as execvp() and shells do. Makes SIGCHLD default where it was ignored (else there would be no
  /// exit status). Throws Error with exit status 127 (not found, empty name), 126 (found, but not
  /// executable) or 125 (anything else).
  explicit SpawnedProgram(std::vector<std::string> argv, const SpawnOptions& options = {});

  /// Before release(): ends and reaps the child. After it: leaves the program running.
  ~SpawnedProgram();

  SpawnedProgram(const SpawnedProgram&) = delete;
  SpawnedProgram& operator=(const SpawnedProgram&) = delete;

  /// Its process id, and the id of its only thread until it makes others.
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

  /// The file that will be executed.
  const std::string& path() const { return path_; }

  /// Readable when the program has ended. Ours; valid as long as this object.
  int pidfd() const { return pidfd_.get(); }

  /// Opens the gate and waits until the program runs, a second at most: a child that somebody has
  /// stopped runs it later. Throws Error (exit status 126 or 127) where execve fails; the child is
  /// gone then. A child that was killed at the gate is no error: wait() tells. Call once.
  void release();

  /// The exit status, or 128 + signal, once the program has ended; nothing while it runs or is
  /// stopped. Throws as release(), of a child that was late.
  std::optional<int> try_wait();

  /// CPU time of the program and of those children of it that it knew the end of, once its own end
  /// is known; 0 before.
  Duration cpu_used() const { return cpu_used_; }

  /// Blocks until the program has ended.
  int wait();

  /// Sends `signal`; false where the program has ended. A ^C on the terminal reaches the program
  /// without this: forward only signals that came from a process (siginfo's si_code is SI_USER, not
  /// SI_KERNEL).
  bool forward(int signal);

 private:
  void end_child() noexcept;
  /// `status` is waitpid's; returns a shell's.
  int has_ended(int status, const rusage& used);
  void learn_of_start(Duration patience);

  std::vector<std::string> argv_;
  std::string path_;
  pid_t pid_ = -1;
  Fd pidfd_;
  Fd gate_;         ///< written to by release(); its closing ends a child that waits
  Fd gate_reader_;  ///< the child's end, kept so that release() never meets a broken pipe
  Fd reports_;      ///< what the child has to say before execve; end of file once it has succeeded
  std::optional<Suspension> suspension_;  ///< while it runs; a helper has none
  std::optional<int> status_;
  Duration cpu_used_{};
};

}  // namespace overdue

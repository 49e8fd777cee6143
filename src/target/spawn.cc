#include "target/spawn.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/signals_blocked.h"
#include "base/text.h"
#include "target/gate.h"
#include "target/identity.h"

namespace overdue {
namespace {

constexpr int not_executable = 126;
constexpr int not_found = 127;
constexpr std::chrono::seconds patience_at_gate{10}, patience_with_start{1};

[[noreturn]] void throw_own_failure(std::string_view what, int code) {
  throw Error("{}: {}", what, errno_text(code)).exit_status(own_failure);
}

struct Pipe {
  Fd reader;
  Fd writer;
};

/// Both ends are close-on-exec and above the standard streams: a stream that is closed here must
/// stay closed in the child.
Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_own_failure("cannot make a pipe", errno);
  const Fd reader(ends[0]);
  const Fd writer(ends[1]);
  Pipe pipe{Fd(fcntl(reader.get(), F_DUPFD_CLOEXEC, 3)),
            Fd(fcntl(writer.get(), F_DUPFD_CLOEXEC, 3))};
  if (!pipe.reader || !pipe.writer) throw_own_failure("cannot make a pipe", errno);
  return pipe;
}

;

/// Children of a process that ignores SIGCHLD vanish without a status.
void keep_child_statuses() {
  struct sigaction action{};
  sigaction(SIGCHLD, nullptr, &action);
  if (action.sa_handler != SIG_IGN && (action.sa_flags & SA_NOCLDWAIT) == 0) return;
  if (action.sa_handler == SIG_IGN) action.sa_handler = SIG_DFL;
  action.sa_flags &= ~SA_NOCLDWAIT;
  sigaction(SIGCHLD, &action, nullptr);
}

/// The child's next report. `report` is empty at the end of the pipe: the child executed the
/// program, or died. `is_late` if the child did neither in time: it may be stopped.
struct Heard {
  bool is_late = false;
  std::optional<GateReport> report;
};
Heard read_report(int reports, Duration patience) {
  const KernelTime until = KernelClock::now() + patience;
  for (;;) {
    const KernelTime now = KernelClock::now();
    const Duration left = until > now ? until - now : Duration(0);
    pollfd ready{.fd = reports, .events = POLLIN, .revents = 0};
    const auto wait_ms = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    const int found = poll(&ready, 1, static_cast<int>(wait_ms));
    if (found < 0 && errno == EINTR) continue;
    if (found == 0) return {.is_late = true, .report = {}};
    GateReport report{};
    const ssize_t got = read(reports, &report, sizeof report);
    if (got < 0 && errno == EINTR) continue;
    if (got != static_cast<ssize_t>(sizeof report)) return {};
    return {.is_late = false, .report = report};
  }
}

int shell_status(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

/// Says why the child could not execute `name`, with the exit status of a shell.
[[noreturn]] void throw_unusable(const std::string& name, int code) {
  const std::string shown = printable(name);
  switch (code) {
    case ENOENT:
      if (name.find('/') == std::string::npos)
        throw Error("cannot run {}: no such program in PATH", shown).exit_status(not_found);
      [[fallthrough]];
    case ENOTDIR:
    case ELOOP:
    case ENAMETOOLONG:
      throw Error("cannot run {}: {}", shown, errno_text(code)).exit_status(not_found);
    case EISDIR:
      throw Error("cannot run {}: it is a directory", shown).exit_status(not_executable);
    case EACCES:
      throw Error("cannot run {}: permission denied", shown)
          .hint("is it executable (chmod +x) for the user it runs as, and its directory too?")
          .exit_status(not_executable);
    case ENOEXEC:
      throw Error("cannot run {}: not a program for this machine", shown)
          .exit_status(not_executable);
    default:
      throw Error("cannot run {}: {}", shown, errno_text(code)).exit_status(not_executable);
  }
}

/// execve refused `path`, which the search had found executable.
[[noreturn]] void throw_exec_failure(const std::string& name, const std::string& path, int code) {
  struct stat facts{};
  if (code == ENOENT && stat(path.c_str(), &facts) == 0)
    throw Error("cannot run {}: it exists, but the interpreter or loader it asks for does not",
                printable(name))
        .hint("look at its first line (#!…), or at: readelf -l")
        .exit_status(not_executable);
  throw_unusable(name, code);
}

}  // namespace

InheritedState InheritedState::current() {
  InheritedState state;
  pthread_sigmask(SIG_SETMASK, nullptr, &state.blocked);
  sigemptyset(&state.ignored);
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    if (sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN)
      sigaddset(&state.ignored, signal);
  }
  getrlimit(RLIMIT_NOFILE, &state.open_files);
  getrlimit(RLIMIT_MEMLOCK, &state.locked_memory);
  getrlimit(RLIMIT_STACK, &state.stack);
  return state;
}

SpawnedProgram::SpawnedProgram(std::vector<std::string> argv, const SpawnOptions& options)
    : argv_(std::move(argv)) {
  if (argv_.empty() || argv_.front().empty())
    throw Error("cannot run '': the program name is empty").exit_status(not_found);
  GatePlan plan(argv_, choose_identity(IdentityRequest::current(options.user)), options);
  keep_child_statuses();
  Pipe gate = make_pipe();
  Pipe reports = make_pipe();
  {
    const SignalsBlocked blocked;
    pid_ = fork();
    if (pid_ == 0) {
      close(gate.writer.get());
      close(reports.reader.get());
      plan.run_child(gate.reader.get(), reports.writer.get());
    }
  }
  if (pid_ < 0) throw_own_failure("cannot start a process", errno);
  gate_ = std::move(gate.writer);
  gate_reader_ = std::move(gate.reader);
  reports_ = std::move(reports.reader);
  reports.writer.reset();

  // From here on the destructor does not run on a throw: end_child() must.
  pidfd_ = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0)));
  if (!pidfd_) {
    const int code = errno;
    end_child();
    throw_own_failure("cannot watch the program", code);
  }
  const auto [is_late, report] = read_report(reports_.get(), patience_at_gate);
  if (report && report->stage == GateStage::waiting) {
    if (options.helper_input < 0) suspension_.emplace(pid_);
    path_ = plan.candidates()[static_cast<std::size_t>(report->candidate)];
    return;
  }
  end_child();
  if (is_late)
    throw Error("cannot run {}: another process has stopped the process that was to run it",
                printable(argv_.front()))
        .exit_status(own_failure);
  if (!report)
    throw Error("cannot run {}: killed before it could start", printable(argv_.front()))
        .exit_status(own_failure);
  if (report->stage == GateStage::user)
    throw_own_failure(fmt::format("cannot run {} as the invoking user", printable(argv_.front())),
                      report->error);
  throw_unusable(argv_.front(), report->error);
}

SpawnedProgram::~SpawnedProgram() {
  if (status_ || pid_ < 0) return;
  if (gate_) {
    end_child();
  } else {
    // The program may have ended already; no other code would reap it.
    waitpid(pid_, nullptr, WNOHANG);
  }
}

/// Ends a child that has not executed the program. SIGKILL, because a stopped child does not see
/// the gate close.
void SpawnedProgram::end_child() noexcept {
  kill(pid_, SIGKILL);
  gate_.reset();
  int status = 0;
  rusage used{};
  while (wait4(pid_, &status, 0, &used) < 0 && errno == EINTR) {
  }
  has_ended(status, used);
}

int SpawnedProgram::has_ended(int status, const rusage& used) {
  const auto of = [](const timeval& time) {
    return Duration(std::chrono::seconds(time.tv_sec)) + std::chrono::microseconds(time.tv_usec);
  };
  cpu_used_ = of(used.ru_utime) + of(used.ru_stime);
  suspension_.reset();
  const int ended = shell_status(status);
  status_ = ended;
  return ended;
}

void SpawnedProgram::release() {
  const char open = 1;
  const ssize_t written = write(gate_.get(), &open, 1);  // into an empty pipe: never blocks
  if (written != 1) throw_own_failure("cannot start the program", errno);
  learn_of_start(patience_with_start);
  gate_.reset();
  gate_reader_.reset();
}

void SpawnedProgram::learn_of_start(Duration patience) {
  if (!reports_) return;
  const auto [is_late, report] = read_report(reports_.get(), patience);
  if (is_late) return;
  reports_.reset();
  if (!report) return;
  status_ = wait();
  throw_exec_failure(argv_.front(), path_, report->error);
}

std::optional<int> SpawnedProgram::try_wait() {
  if (status_) return status_;
  learn_of_start(Duration(0));
  int status = 0;
  rusage used{};
  const pid_t ended = wait4(pid_, &status, WNOHANG, &used);
  if (ended == 0 || (ended < 0 && errno == EINTR)) return std::nullopt;
  if (ended < 0) throw_own_failure("cannot learn how the program ended", errno);
  has_ended(status, used);
  learn_of_start(Duration(0));
  return status_;
}

int SpawnedProgram::wait() {
  if (status_) return *status_;
  int status = 0;
  rusage used{};
  while (wait4(pid_, &status, 0, &used) < 0)
    if (errno != EINTR) throw_own_failure("cannot learn how the program ended", errno);
  const int ended = has_ended(status, used);
  learn_of_start(Duration(0));
  return ended;
}

bool SpawnedProgram::forward(int signal) {
  if (status_) return false;
  if (syscall(SYS_pidfd_send_signal, pidfd_.get(), signal, nullptr, 0) == 0) return true;
  if (errno == ESRCH) return false;
  const int code = errno;
  throw Error("cannot send signal {} to the program: {}", signal, errno_text(code));
}

}  // namespace overdue

#include "target/gate.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/priority.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "target/terminal_guard.h"

extern char** environ;

namespace overdue {
namespace {

std::vector<std::string> search_path(const std::string& program) {
  if (program.find('/') != std::string::npos) return {program};
  const char* variable = std::getenv("PATH");
  std::string_view path = variable ? variable : "/bin:/usr/bin";
  std::vector<std::string> candidates;
  for (;;) {
    const std::size_t colon = path.find(':');
    const std::string_view directory = path.substr(0, colon);
    // An empty element means the current directory.
    candidates.push_back(directory.empty() ? "./" + program
                                           : std::string(directory) + '/' + program);
    if (colon == std::string_view::npos) return candidates;
    path.remove_prefix(colon + 1);
  }
}

/// Overdue's environment. If another user is to run the program, HOME, USER and LOGNAME are that
/// user's: sudo has replaced them.
std::vector<std::string> environment_for(const std::optional<Identity>& identity) {
  std::vector<std::string> variables;
  for (char** variable = environ; variable && *variable; ++variable)
    variables.emplace_back(*variable);
  if (!identity || identity->name.empty()) return variables;
  const std::pair<std::string_view, const std::string&> replaced[] = {
      {"HOME=", identity->home}, {"USER=", identity->name}, {"LOGNAME=", identity->name}};
  for (const auto& [key, value] : replaced) {
    std::erase_if(variables,
                  [&](const std::string& variable) { return variable.starts_with(key); });
    variables.push_back(std::string(key) + value);
  }
  return variables;
}

/// 0 if `path` is a regular file that this process may execute, else an errno value. Sets `exists`
/// to whether the path exists.
int executable_error(const char* path, bool& exists) {
  struct stat facts{};
  exists = stat(path, &facts) == 0;
  if (!exists) return errno;
  if (S_ISDIR(facts.st_mode)) return EISDIR;
  if (!S_ISREG(facts.st_mode)) return EACCES;
  return access(path, X_OK) == 0 ? 0 : errno;
}

/// Whether a shell may run a file whose format execve does not know: whether its beginning is text.
bool looks_like_script(const char* path) {
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  char start[256];
  const ssize_t size = read(file, start, sizeof start);
  close(file);
  return size >= 0 && std::memchr(start, '\0', static_cast<std::size_t>(size)) == nullptr;
}

int capabilities_dropped() {
  // Linux before 4.3 has no ambient capabilities, and refuses the call.
  prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
  return ThreadRights{}.try_to_apply() ? 0 : errno;
}

void write_report(int reports, GateStage stage, int error, int candidate) {
  const GateReport report{stage, error, candidate};
  // The report is smaller than PIPE_BUF, and the pipe is empty: the report is written at once or,
  // if the parent has died, not at all.
  [[maybe_unused]] const ssize_t written = write(reports, &report, sizeof report);
}

/// Waits for the byte that opens the gate; the next system call is execve. Returns errno if execve
/// fails. Uses raw system calls, because a sanitizer's read() or execve() may make others.
int cross_gate(int gate, const char* path, char* const* argv, char* const* environment) {
  char opened = 0;
  long got = -1;
  do {
    got = syscall(SYS_read, gate, &opened, 1);
  } while (got < 0 && errno == EINTR);
  if (got == 1) syscall(SYS_execve, path, argv, environment);
  if (got != 1) _exit(125);  // end of file: no process is left to open the gate
  return errno;
}

}  // namespace

GatePlan::GatePlan(const std::vector<std::string>& argv, std::optional<Identity> identity,
                   const SpawnOptions& options)
    : candidates_(search_path(argv.front())),
      searched_(argv.front().find('/') == std::string::npos),
      environment_(environment_for(identity)),
      identity_(std::move(identity)),
      inherited_(options.inherited),
      helper_input_(options.helper_input) {
  // execve does not write to its strings; its prototype predates const.
  for (const std::string& argument : argv)
    argv_pointers_.push_back(const_cast<char*>(argument.c_str()));
  shell_pointers_ = {shell_, nullptr};
  shell_pointers_.insert(shell_pointers_.end(), argv_pointers_.begin() + 1, argv_pointers_.end());
  for (std::string& variable : environment_) environment_pointers_.push_back(variable.data());
  for (auto* pointers : {&argv_pointers_, &shell_pointers_, &environment_pointers_})
    pointers->push_back(nullptr);
}

void GatePlan::restore_signals() const {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action{};
    const bool ignored = inherited_ && sigismember(&inherited_->ignored, signal) == 1;
    action.sa_handler = ignored ? SIG_IGN : SIG_DFL;
    // Fails for SIGKILL, SIGSTOP and glibc's own two signals, which need no reset.
    sigaction(signal, &action, nullptr);
  }
  sigset_t mask;
  sigemptyset(&mask);
  if (inherited_) mask = inherited_->blocked;
  // The mask comes last: all signals were blocked across the fork, so that no handler of the parent
  // runs here.
  sigprocmask(SIG_SETMASK, &mask, nullptr);
}

int GatePlan::become_user() const {
  if (inherited_) {
    setrlimit(RLIMIT_NOFILE, &inherited_->open_files);
    setrlimit(RLIMIT_MEMLOCK, &inherited_->locked_memory);
    setrlimit(RLIMIT_STACK, &inherited_->stack);
  }
  if (identity_) {
    const Identity& user = *identity_;
    if (const int error = geteuid() == 0 ? forbid_typing_as(user.uid) : 0; error != 0) return error;
    // Raw calls: glibc's would signal the parent's other threads, which the child does not have.
    if (geteuid() == 0 && syscall(SYS_setgroups, user.groups.size(), user.groups.data()) != 0)
      return errno;
    if (syscall(SYS_setresgid, user.gid, user.gid, user.gid) != 0) return errno;
    if (syscall(SYS_setresuid, user.uid, user.uid, user.uid) != 0) return errno;
  }
  if (geteuid() != 0) return capabilities_dropped();
  // A measuring command takes some capabilities out of force; root finds and reads the program with
  // all.
  ThreadRights::current().only(~std::uint64_t{0}).try_to_apply();
  return 0;
}

/// Called after a change of user, which makes the kernel clear PR_SET_PDEATHSIG.
void GatePlan::become_helper() const {
  setsid();  // also leaves the terminal
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(helper_input_, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);
}

/// Index of the first candidate that can be executed; -1 if there is none, with the most specific
/// errno value in `error`.
int GatePlan::choose_candidate(int& error) const {
  error = ENOENT;
  for (std::size_t i = 0; i < candidates_.size(); ++i) {
    bool exists = false;
    const int code = executable_error(candidates_[i].c_str(), exists);
    if (code == 0) return static_cast<int>(i);
    // As for a shell, a directory of PATH that this user may not search is empty.
    if (exists || !searched_) error = code;
  }
  return -1;
}

void GatePlan::run_child(int gate, int reports) {
  drop_raised_priority();
  restore_signals();
  if (const int error = become_user(); error != 0) {
    write_report(reports, GateStage::user, error, 0);
    _exit(125);
  }
  if (helper_input_ >= 0) become_helper();
  int error = 0;
  const int chosen = choose_candidate(error);
  if (chosen < 0) {
    write_report(reports, GateStage::search, error, 0);
    _exit(127);
  }
  const char* path = candidates_[static_cast<std::size_t>(chosen)].c_str();
  shell_pointers_[1] = const_cast<char*>(path);
  const bool script = looks_like_script(path);
  write_report(reports, GateStage::waiting, 0, chosen);
  error = cross_gate(gate, path, argv_pointers_.data(), environment_pointers_.data());
  if (error == ENOEXEC && script) {
    syscall(SYS_execve, shell_, shell_pointers_.data(), environment_pointers_.data());
    error = errno;
  }
  write_report(reports, GateStage::exec, error, chosen);
  _exit(error == ENOENT ? 127 : 126);
}

}  // namespace overdue

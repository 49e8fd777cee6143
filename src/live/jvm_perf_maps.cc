#include "live/jvm_perf_maps.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string_view>

#include <fmt/format.h>

#include "base/error.h"
#include "base/fd.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "symbols/open_file.h"
#include "symbols/process_maps.h"
#include "symbols/process_status.h"
#include "target/proc.h"
#include "target/processes.h"

namespace overdue {
namespace {

constexpr int look_every_ms = 20, looks = 300, answer_ms = 6000;
constexpr unsigned child_seconds = 20;  // a child that hangs ends
constexpr std::size_t jvms_max = 64;

/// What became of a request: the exit status of the child that makes it.
enum class Outcome : std::uint8_t {
  done,
  no_rights,
  no_room,
  gone,
  no_answer,
  no_socket,
  stranger,
  refused,
  last
};

constexpr std::array<std::string_view, static_cast<std::size_t>(Outcome::last)> outcomes = {
    "has written the names of its compiled methods",
    "Overdue cannot take its user's rights",
    "no file can be made in its folder or in its /tmp",
    "it has ended",
    "it did not answer in 6 s",
    "it opened no socket in 6 s",
    "another process has its socket",
    "it refused: Compiler.perfmap needs version 17"};

/// Everything that the child needs, since it must not allocate memory.
struct Request {
  Fd root, folder, process;
  ProcessStatus status;
  pid_t pid = 0;
  sockaddr_un address{};
  std::array<char, 40> attach_file{}, attach_file_in_tmp{};
};

Fd connected(const Request& request) {
  Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto* address = reinterpret_cast<const sockaddr*>(&request.address);
  if (connect(socket.get(), address, sizeof request.address) != 0) socket.reset();
  return socket;
}

bool take_rights(const Request& request) {
  const uid_t user = request.status.uid;
  const gid_t group = request.status.gid;
  return fchdir(request.root.get()) == 0 && chroot(".") == 0 &&
         syscall(SYS_setgroups, 0, nullptr) == 0 &&
         syscall(SYS_setresgid, group, group, group) == 0 &&
         syscall(SYS_setresuid, user, user, user) == 0 && ThreadRights{}.try_to_apply() &&
         prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/// HotSpot opens its socket when a signal comes while this file is there.
bool make_attach_file(const Request& request, int& folder, const char*& name) {
  constexpr int flags = O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC;
  for (const auto& [in, path] : {std::pair(request.folder.get(), request.attach_file.data()),
                                 std::pair(AT_FDCWD, request.attach_file_in_tmp.data())}) {
    const Fd file(openat(in, path, flags, 0600));
    if (!file && errno != EEXIST) continue;
    folder = in;
    name = path;
    return true;
  }
  return false;
}

Outcome open_socket(const Request& request, Fd& socket) {
  socket = connected(request);
  if (socket) return Outcome::done;
  int folder = -1;
  const char* name = nullptr;
  if (!make_attach_file(request, folder, name)) return Outcome::no_room;
  Outcome outcome = Outcome::no_socket;
  if (syscall(SYS_pidfd_send_signal, request.process.get(), SIGQUIT, nullptr, 0) != 0)
    outcome = Outcome::gone;
  for (int look = 0; look < looks && outcome == Outcome::no_socket; ++look) {
    poll(nullptr, 0, look_every_ms);
    socket = connected(request);
    if (socket) outcome = Outcome::done;
  }
  unlinkat(folder, name, 0);
  return outcome;
}

/// The answer begins with the status of the command, a number in text.
Outcome ask(const Fd& socket) {
  static constexpr char question[] = "1\0jcmd\0Compiler.perfmap\0\0";  // and a last zero
  if (send(socket.get(), question, sizeof question, MSG_NOSIGNAL) != sizeof question)
    return Outcome::no_answer;
  pollfd answer{.fd = socket.get(), .events = POLLIN, .revents = 0};
  char first = 0;
  if (poll(&answer, 1, answer_ms) != 1 || read(socket.get(), &first, 1) != 1)
    return Outcome::no_answer;
  return first == '0' ? Outcome::done : Outcome::refused;
}

Outcome be_child(const Request& request) {
  alarm(child_seconds);
  if (!take_rights(request)) return Outcome::no_rights;
  Fd socket;
  if (const Outcome outcome = open_socket(request, socket); outcome != Outcome::done)
    return outcome;
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
      peer.pid != request.pid)
    return Outcome::stranger;
  return ask(socket);
}

Outcome outcome_of(const Request& request) {
  const pid_t parent = getpid();
  const pid_t child = fork();
  check_errno(child, "cannot start the process that asks a JVM");
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signal(SIGALRM, SIG_DFL);
    _exit(getppid() == parent ? static_cast<int>(be_child(request)) : 0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  const auto outcome = static_cast<std::size_t>(WEXITSTATUS(status));
  return WIFEXITED(status) && outcome < outcomes.size() ? static_cast<Outcome>(outcome)
                                                        : Outcome::no_answer;
}

bool is_jvm(pid_t pid) {
  const auto maps = ProcessMaps::read(pid);
  return maps && std::ranges::any_of(maps->all(), [](const Mapping& mapping) {
           return mapping.is_executable && mapping.path.ends_with("/libjvm.so");
         });
}

std::string ask_jvm(pid_t pid) {
  const ReadRights rights;
  const auto sentence = [pid](std::string_view what) {
    return fmt::format("JVM {} has written no names of methods: {}", pid, what);
  };
  Request request;
  request.process = Fd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  const auto status = read_process_status(pid);
  if (!request.process || !status) return sentence("it has ended");
  if (const std::string why = why_not_asked(pid); !why.empty()) return sentence(why);
  request.pid = pid;
  request.status = *status;
  request.root = open_root_of(pid);
  request.folder =
      Fd(open(fmt::format("/proc/{}/cwd", pid).c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!request.root) return sentence("its root folder cannot be opened");
  const pid_t own = status->pids.front();
  request.address.sun_family = AF_UNIX;
  std::snprintf(request.address.sun_path, sizeof request.address.sun_path, "/tmp/.java_pid%d", own);
  std::snprintf(request.attach_file.data(), request.attach_file.size(), ".attach_pid%d", own);
  std::snprintf(request.attach_file_in_tmp.data(), request.attach_file_in_tmp.size(),
                "/tmp/.attach_pid%d", own);
  const Outcome outcome = outcome_of(request);
  const std::string_view what = outcomes[static_cast<std::size_t>(outcome)];
  if (outcome != Outcome::done) return sentence(what);
  return fmt::format("JVM {} {} to its /tmp/perf-{}.map: --perf-maps", pid, what, own);
}

/// The processes of the target, with their descendants.
std::set<std::uint32_t> processes_of(const TargetSelection& selection) {
  const Proc proc;
  const std::vector<std::uint32_t> chosen = running_processes(selection);
  std::set<std::uint32_t> pids(chosen.begin(), chosen.end());
  for (bool has_grown = true; has_grown;) {
    has_grown = false;
    for (const std::uint32_t pid : proc.processes())
      if (const auto thread = pids.contains(pid) ? std::nullopt : proc.thread(pid);
          thread && pids.contains(thread->parent_pid))
        has_grown = pids.insert(pid).second;
  }
  return pids;
}

}  // namespace

std::string why_not_asked(pid_t pid) {
  const auto status = read_process_status(pid);
  if (!status) return "it has ended";
  if (!status->catches(SIGQUIT)) return "it does not handle SIGQUIT (-Xrs, or it has just started)";
  const auto command = read_text(fmt::format("/proc/{}/cmdline", pid));
  if (command && command->find("+DisableAttachMechanism") != std::string::npos)
    return "it runs with -XX:+DisableAttachMechanism";
  return {};
}

std::vector<std::string> ask_jvms_for_perf_maps(const TargetSelection& target) {
  if (target.kind == TargetKind::command)
    throw Error("--perf-maps is for a JVM that runs already")
        .hint("start the program first, then give its process with -p")
        .exit_status(2);
  std::vector<std::string> notes;
  std::size_t left_out = 0;
  for (const std::uint32_t process : processes_of(target)) {
    const auto pid = static_cast<pid_t>(process);
    if (!is_jvm(pid)) continue;
    if (notes.size() < jvms_max)
      notes.push_back(ask_jvm(pid));
    else
      ++left_out;
  }
  if (notes.empty()) notes.emplace_back("--perf-maps: the target has no JVM");
  if (left_out > 0)
    notes.push_back(fmt::format("JVMs that were not asked for names of methods: {}", left_out));
  return notes;
}

}  // namespace overdue

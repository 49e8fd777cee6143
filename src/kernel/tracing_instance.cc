#include "kernel/tracing_instance.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <ctime>
#include <optional>
#include <span>

#include <fmt/format.h>

#include "base/error.h"
#include "base/read_text.h"
#include "base/text.h"
#include "base/thread_rights.h"
#include "kernel/tracing_settings.h"

namespace overdue {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "overdue-";

/// The start time of a process in ticks since boot: with the pid, it identifies one process for
/// good. Empty if the process does not run.
std::optional<std::string> start_of(std::string_view pid) {
  const auto text = read_text(fmt::format("/proc/{}/stat", pid));
  if (!text) return std::nullopt;
  const std::size_t behind_name = text->rfind(')');  // the name may contain anything
  if (behind_name == text->npos) return std::nullopt;
  const auto words = split(std::string_view(*text).substr(behind_name + 1), ' ');
  constexpr std::size_t start = 19;  // field 22 of proc(5); the first word is field 3
  if (words.size() <= start || words[0] == "Z" || words[0] == "X") return std::nullopt;
  return std::string(words[start]);
}

/// Whether an Overdue process that has ended made the instance of that name.
bool is_left_over(std::string_view name) {
  if (!name.starts_with(prefix)) return false;
  const auto parts = split(name.substr(prefix.size()), '-');
  if (parts.size() != 2) return false;
  for (const std::string_view part : parts)
    if (part.find_first_not_of("0123456789") != part.npos) return false;
  return start_of(parts[0]) != parts[1];
}

/// Stops an instance and removes it. Async-signal-safe. `tracer`, `switched_on` and `name` are
/// paths below `instances`. The kernel refuses while a file of the instance is open.
bool dismantle(int instances, const char* tracer, const char* switched_on, const char* name) {
  const auto put = [&](const char* file, const char* text, std::size_t size) {
    const int fd = openat(instances, file, O_WRONLY | O_CLOEXEC);
    if (fd < 0) return;
    if (::write(fd, text, size) < 0) errno = 0;  // the removal stops it too
    close(fd);
  };
  put(switched_on, "0", 1);
  put(tracer, "nop", 3);
  for (int tries = 0; tries < 50; ++tries) {
    if (unlinkat(instances, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return true;
    const timespec pause{.tv_sec = 0, .tv_nsec = 20'000'000};
    nanosleep(&pause, nullptr);
  }
  return false;
}

bool dismantle(int instances, const std::string& name) {
  return dismantle(instances, (name + "/current_tracer").c_str(), (name + "/tracing_on").c_str(),
                   name.c_str());
}

constexpr std::size_t outlasted_max = 512;  // below the usual limit of descriptors
constexpr int longest_wait_ms = 10'000;

/// A message of one byte, with room for one descriptor.
struct Message {
  char byte = 0;
  iovec bytes{.iov_base = &byte, .iov_len = 1};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
  msghdr header{};

  Message() {
    header.msg_iov = &bytes;
    header.msg_iovlen = 1;
    header.msg_control = control.data();
    header.msg_controllen = control.size();
  }
};

/// Receives descriptors until the other end is closed. Async-signal-safe.
std::size_t receive_until_the_end(int socket, std::span<pollfd> received) {
  std::size_t count = 0;
  while (true) {
    Message message;
    const ssize_t size = recvmsg(socket, &message.header, 0);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) return count;
    const cmsghdr* const with = CMSG_FIRSTHDR(&message.header);
    if (with == nullptr || with->cmsg_type != SCM_RIGHTS || count >= received.size()) continue;
    int fd = -1;
    std::memcpy(&fd, CMSG_DATA(with), sizeof fd);
    received[count++] = {.fd = fd, .events = POLLIN, .revents = 0};
  }
}

/// Waits for the ends of these processes, for at most 10 seconds each. Async-signal-safe.
void wait_for_all(std::span<pollfd> processes) {
  for (pollfd& process : processes)
    while (poll(&process, 1, longest_wait_ms) < 0 && errno == EINTR) continue;
}

}  // namespace

TracingInstance::TracingInstance(const fs::path& tracefs, const TracingSettings* settings)
    : name_(fmt::format("{}{}-{}", prefix, getpid(),
                        start_of(std::to_string(getpid())).value_or("0"))),
      settings_(settings),
      path_(tracefs / "instances" / name_) {
  sweep_tracing_instances(tracefs);
  instances_ = Fd(open((tracefs / "instances").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!instances_)
    throw Error("cannot make a tracing instance: {}", errno_text(errno))
        .hint("tracefs is to be mounted: mount -t tracefs nodev /sys/kernel/tracing");
  if (const int code = guard(); code != 0) {
    remove();
    throw Error("cannot make a tracing instance: {}", errno_text(code))
        .hint("run as root, on a kernel that is not locked down");
  }
}

TracingInstance::~TracingInstance() {
  remove();
}

// The parent may have several threads, so after fork() the child only makes system calls. The child
// also makes the instance: no instance exists without its guardian, and a kill of this process
// never interrupts the mkdir(), for which some kernels print a warning.
int TracingInstance::guard() {
  int ends[2];
  check_errno(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends),
              "cannot make a pair of sockets");
  Fd reader(ends[0]);
  alive_ = Fd(ends[1]);
  const std::string tracer = name_ + "/current_tracer", switched_on = name_ + "/tracing_on";
  const int folder = instances_.get(), end = reader.get();
  const ThreadRights rights = ThreadRights::current().only(file_overrides);
  guardian_ = check_errno(fork(), "cannot fork");
  if (guardian_ != 0) {
    reader.reset();
    int code = 0;
    ssize_t size = 0;
    while ((size = ::read(alive_.get(), &code, sizeof code)) < 0 && errno == EINTR) continue;
    return size == sizeof code ? code : ECHILD;
  }
  // A signal to all processes of our terminal or service must not end the guardian before them.
  setsid();
  rights.try_to_apply();
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  const std::array<int, 2> kept = settings_ ? settings_->descriptors() : std::array<int, 2>{-1, -1};
  for (int fd = 0; fd < 1024; ++fd)
    if (fd != folder && fd != end && fd != kept[0] && fd != kept[1]) close(fd);
  const int made = mkdirat(folder, name_.c_str(), 0700) == 0 ? 0 : errno;
  if (::write(end, &made, sizeof made) < 0)
    errno = 0;  // the parent has ended: the instance is removed below
  if (made != 0) _exit(1);
  std::array<pollfd, outlasted_max> outlasted;
  const nfds_t others = receive_until_the_end(end, outlasted);
  wait_for_all(std::span(outlasted).first(others));
  const bool gone = dismantle(folder, tracer.c_str(), switched_on.c_str(), name_.c_str());
  if (settings_) settings_->restore();
  _exit(gone ? 0 : 1);
}

void TracingInstance::outlast(int pidfd) const {
  Message message;
  cmsghdr* const with = CMSG_FIRSTHDR(&message.header);
  with->cmsg_level = SOL_SOCKET;
  with->cmsg_type = SCM_RIGHTS;
  with->cmsg_len = CMSG_LEN(sizeof pidfd);
  std::memcpy(CMSG_DATA(with), &pidfd, sizeof pidfd);
  check_errno(static_cast<int>(sendmsg(alive_.get(), &message.header, MSG_NOSIGNAL)),
              "cannot reach the guardian of our tracing instance");
}

void TracingInstance::remove() {
  dismantle(instances_.get(), name_);
  alive_.reset();
  if (guardian_ > 0) waitpid(guardian_, nullptr, 0);
  guardian_ = -1;
}

bool TracingInstance::try_write(const std::string& file, std::string_view text) const {
  const Fd fd(open((path_ / file).c_str(), O_WRONLY | O_TRUNC | O_CLOEXEC));
  return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

void TracingInstance::write(const std::string& file, std::string_view text) const {
  if (!try_write(file, text))
    throw Error("the kernel refuses '{}' for {}: {}", text, file, errno_text(errno))
        .hint(errno == EBUSY ? "that tracer is in use; see current_tracer in tracefs"
                             : "overdue doctor says what this kernel allows");
}

std::string TracingInstance::read(const std::string& file) const {
  auto text = read_text(path_ / file, 256u << 20);
  if (!text) throw Error("cannot read {} of our tracing instance: {}", file, errno_text(errno));
  return std::move(*text);
}

unsigned sweep_tracing_instances(const fs::path& tracefs) {
  unsigned swept = 0;
  std::error_code error;
  const Fd folder(open((tracefs / "instances").c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder) return 0;
  for (const auto& entry : fs::directory_iterator(tracefs / "instances", error)) {
    const std::string name = entry.path().filename();
    if (is_left_over(name) && dismantle(folder.get(), name)) ++swept;
  }
  return swept;
}

}  // namespace overdue

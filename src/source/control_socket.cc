#include "source/control_socket.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <memory>

#include "base/error.h"
#include "target/file_rights.h"

namespace overdue {
namespace {

constexpr std::size_t longest_request = 1024;
constexpr std::size_t max_clients = 8, max_waiting = 64;
constexpr std::chrono::seconds silence_allowed{5};
constexpr std::string_view suffix = ".sock", unfinished = ".new";

sockaddr_un address_of(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  return address;
}

int connect_to(int fd, const std::string& path) {
  const sockaddr_un address = address_of(path);
  return connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ? 0 : errno;
}

Fd new_socket() {
  return Fd(check_errno(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0),
                        "cannot make a socket"));
}

struct Entry {
  pid_t pid = 0;
  std::string path;
  bool is_finished = false;
};

/// The entries of the folder that are named like sockets of Overdue.
std::vector<Entry> entries() {
  struct Close {
    void operator()(DIR* folder) const { closedir(folder); }
  };
  std::vector<Entry> found;
  const std::unique_ptr<DIR, Close> folder(opendir(std::string(control_folder).c_str()));
  if (!folder) return found;
  while (const dirent* file = readdir(folder.get())) {
    const std::string_view name = file->d_name;
    Entry entry;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), entry.pid);
    if (error != std::errc() || entry.pid <= 0) continue;
    const std::string_view rest = name.substr(static_cast<std::size_t>(end - name.data()));
    if (rest != suffix && rest != unfinished) continue;
    entry.is_finished = rest == suffix;
    entry.path = std::string(control_folder) + "/" + std::string(name);
    found.push_back(std::move(entry));
  }
  return found;
}

bool is_gone(pid_t pid) {
  return kill(pid, 0) != 0 && errno == ESRCH;
}

/// Removes the sockets of sessions that were killed. A socket gets its final name once it listens:
/// a socket with a final name that refuses connections has no session any more.
void sweep() {
  for (const Entry& entry : entries()) {
    const bool dead = entry.is_finished ? connect_to(new_socket().get(), entry.path) == ECONNREFUSED
                                        : is_gone(entry.pid);
    if (dead) unlink(entry.path.c_str());
  }
}

/// Makes the folder of the sockets: every user may look up a name, only root may make or remove
/// one.
void make_folder() {
  const std::string name(control_folder);
  if (mkdir(name.c_str(), 0711) != 0 && errno != EEXIST)
    throw Error("cannot make {}: {}", name, errno_text(errno));
  const Fd folder(check_errno(open(name.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_PATH),
                              "cannot open {}", name));
  struct stat status{};
  check_errno(fstat(folder.get(), &status), "cannot look at {}", name);
  if (status.st_uid != 0 || status.st_mode & (S_IWGRP | S_IWOTH))
    throw Error("others than root may write to {}", name);
}

}  // namespace

std::string control_path(pid_t pid) {
  return fmt::format("{}/{}{}", control_folder, pid, suffix);
}

std::vector<pid_t> control_sessions() {
  std::vector<pid_t> pids;
  for (const Entry& entry : entries())
    if (entry.is_finished) pids.push_back(entry.pid);
  std::sort(pids.begin(), pids.end());
  return pids;
}

std::optional<Fd> connect_to_session(pid_t pid) {
  Fd fd = new_socket();
  const int error = connect_to(fd.get(), control_path(pid));
  if (error == 0) return fd;
  if (error == ENOENT || error == ECONNREFUSED) return std::nullopt;
  throw Error("cannot talk to session {}: {}", pid, errno_text(error))
      .hint(error == EACCES
                ? "only root and the user who started the session can: sudo overdue ctl …"
                : "");
}

ControlSocket::ControlSocket(std::optional<uid_t> owner, Handler handler)
    : owner_(owner), handler_(std::move(handler)) {
  try {
    open();
  } catch (const Error& error) {
    refusal_ = error.what();
    listener_.reset();
  }
}

/// The socket gets its final name last: a client that finds the name can connect.
void ControlSocket::open() {
  make_folder();
  {
    const FileRights rights(std::nullopt);  // root's: the sockets may be other users'
    sweep();
  }
  const std::string path = control_path(getpid());
  const std::string made = fmt::format("{}/{}{}", control_folder, getpid(), unfinished);
  unlink(made.c_str());
  listener_ = new_socket();
  const sockaddr_un address = address_of(made);
  const mode_t mask = umask(0177);
  const int bound =
      bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  umask(mask);
  check_errno(bound, "cannot make {}", made);
  path_ = made;
  if (owner_) check_errno(chown(made.c_str(), *owner_, gid_t(-1)), "cannot give {} away", made);
  check_errno(listen(listener_.get(), max_waiting), "cannot listen at {}", made);
  check_errno(rename(made.c_str(), path.c_str()), "cannot make {}", path);
  path_ = path;
}

ControlSocket::~ControlSocket() {
  if (!path_.empty()) unlink(path_.c_str());
}

void ControlSocket::add_to(std::vector<pollfd>& waits) const {
  if (listener_) waits.push_back({listener_.get(), POLLIN, 0});
  for (const Client& client : clients_) waits.push_back({client.fd.get(), POLLIN, 0});
}

std::optional<uid_t> ControlSocket::who_may_talk(int fd) const {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  const bool may = peer.uid == 0 || peer.uid == geteuid() || (owner_ && peer.uid == *owner_);
  return may ? std::optional(peer.uid) : std::nullopt;
}

/// Silent clients of another user must not keep root out.
void ControlSocket::make_room_for_root() {
  const auto other =
      std::ranges::find_if(clients_, [](const Client& each) { return each.who != 0; });
  if (other != clients_.end()) clients_.erase(other);
}

void ControlSocket::accept_clients(KernelTime now) {
  for (std::size_t i = 0; listener_ && i < max_waiting; ++i) {
    Fd fd(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fd) return;
    const std::optional<uid_t> who = who_may_talk(fd.get());
    if (!who) continue;
    if (clients_.size() >= max_clients && *who == 0) make_room_for_root();
    if (clients_.size() >= max_clients) {
      constexpr std::string_view busy =
          "{\"ok\":false,\"error\":\"too many others talk to this session\"}\n";
      send(fd.get(), busy.data(), busy.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      continue;
    }
    clients_.push_back({.fd = std::move(fd), .who = *who, .read = {}, .since = now});
  }
}

bool ControlSocket::serve(Client& client, KernelTime now) {
  char buffer[longest_request + 1];
  const ssize_t length = recv(client.fd.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (length == 0) return false;
  if (length < 0)
    return (errno == EAGAIN || errno == EINTR) && now - client.since < silence_allowed;
  client.read.append(buffer, static_cast<std::size_t>(length));
  const std::size_t end = client.read.find('\n');
  std::string answer;
  if (end == std::string::npos ? client.read.size() > longest_request : end > longest_request)
    answer = "{\"ok\":false,\"error\":\"a request of more than 1024 bytes\"}";
  else if (end == std::string::npos)
    return true;
  else
    answer = handler_(std::string_view(client.read).substr(0, end));
  answer += '\n';
  // One request per connection: a fast client cannot keep the measuring thread busy.
  send(client.fd.get(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  return false;
}

void ControlSocket::serve(KernelTime now) {
  if (!listener_) return;
  accept_clients(now);
  clients_.remove_if([&](Client& client) { return !serve(client, now); });
}

}  // namespace overdue

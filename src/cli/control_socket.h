#pragma once

#include <poll.h>
#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.h"
#include "base/time.h"

namespace overdue {

constexpr std::string_view control_folder = "/run/overdue";

/// Where the session of process `pid` listens.
std::string control_path(pid_t pid);
/// Processes with a session that listens, as the names in control_folder tell.
std::vector<pid_t> control_sessions();
/// Connected to the session of `pid`; nothing where there is none (any more). Throws Error where
/// this user may not.
std::optional<Fd> connect_to_session(pid_t pid);

/// Lets `overdue ctl` talk to a measurement: a socket in control_folder that only root and the user
/// who called sudo can open. One line is one request and gets one line back, see
/// docs/commands/ctl.md. Never waits for anybody: to be polled and served by the measuring thread.
/// What a client may cost is bounded: the length of its line, its time, how many there are.
class ControlSocket {
 public:
  /// Answers one request, a line without its end, with one line of JSON.
  using Handler = std::function<std::string(std::string_view request)>;

  /// `owner`: who may talk to it besides root.
  ControlSocket(std::optional<uid_t> owner, Handler handler);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  void add_to(std::vector<pollfd>& waits) const;
  /// Reads and answers what there is, one request of each client.
  void serve(KernelTime now);
  /// Why nobody can talk to us; empty: somebody can.
  const std::string& refusal() const { return refusal_; }

 private:
  struct Client {
    Fd fd;
    uid_t who = 0;
    std::string read;
    KernelTime since{};
  };

  void open();
  void accept_clients(KernelTime now);
  std::optional<uid_t> who_may_talk(int fd) const;
  void make_room_for_root();
  /// False: it is to be forgotten.
  bool serve(Client& client, KernelTime now);

  std::optional<uid_t> owner_;
  Handler handler_;
  std::string refusal_;
  std::string path_;  ///< while it is ours to remove
  Fd listener_;
  std::list<Client> clients_;
};

}  // namespace overdue

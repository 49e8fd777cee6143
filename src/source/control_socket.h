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

/// Path of the socket of the session of process `pid`.
std::string control_path(pid_t pid);
/// Process ids of the sessions that listen, in ascending order, from the names in control_folder.
std::vector<pid_t> control_sessions();
/// A connection to the session of `pid`; nothing if there is no such session (any more). Throws
/// Error if this user may not connect.
std::optional<Fd> connect_to_session(pid_t pid);

/// Lets `overdue ctl` talk to a measurement: a socket in control_folder that only root and the user
/// who called sudo can open. Each line is a request and gets one line as its answer: see
/// docs/commands/ctl.md. The measuring thread polls and serves the socket, and never waits for a
/// client. The length of a request, the time of a client and the number of clients are bounded.
class ControlSocket {
 public:
  /// Answers one request, a line without its end, with one line of JSON.
  using Handler = std::function<std::string(std::string_view request)>;

  /// `owner`: the user that may connect besides root.
  ControlSocket(std::optional<uid_t> owner, Handler handler);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  void add_to(std::vector<pollfd>& waits) const;
  /// Reads and answers the requests that have arrived, one of each client.
  void serve(KernelTime now);
  /// Why the session has no socket; empty: the session has one.
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
  /// False: the connection is to be closed.
  bool serve(Client& client, KernelTime now);

  std::optional<uid_t> owner_;
  Handler handler_;
  std::string refusal_;
  std::string path_;  ///< path of the socket that the destructor removes; empty: none
  Fd listener_;
  std::list<Client> clients_;
};

}  // namespace overdue

#include "live/opened_sockets.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "base/fd.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::size_t socket_lines_max = 100'000;

/// TCP sockets as a process sees them.
struct TcpSockets {
  std::map<unsigned long, unsigned> port_of;  ///< by inode
  std::set<unsigned> listening;               ///< ports

  void add(const std::string& file) {
    constexpr unsigned is_listening = 10;  // TCP_LISTEN
    std::ifstream lines(file);
    std::string line;
    for (std::size_t i = 0; i < socket_lines_max && std::getline(lines, line); ++i) {
      std::array<char, 64> address{};
      unsigned port = 0, state = 0;
      unsigned long inode = 0;
      // "0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  0  0 4711 …"
      if (std::sscanf(line.c_str(), "%*s %63[^:]:%x %*s %x %*s %*s %*s %*s %*s %lu", address.data(),
                      &port, &state, &inode) != 4)
        continue;
      if (state == is_listening)
        listening.insert(port);
      else
        port_of[inode] = port;
    }
  }
};

/// The stream sockets of the Unix domain in Overdue's network namespace. A socket without a name
/// whose peer has one has connected; both sockets of a pair have none.
class UnixSockets {
 public:
  UnixSockets() {
    const Fd diag(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG));
    if (diag && ask(diag)) read_all(diag);
  }
  bool has_connected(unsigned long inode) const {
    const auto peer = peer_of_.find(inode);
    return peer != peer_of_.end() && !named_.contains(inode) && named_.contains(peer->second);
  }

 private:
  static bool ask(const Fd& diag) {
    struct {
      nlmsghdr header{};
      unix_diag_req request{};
    } message;
    message.header = {.nlmsg_len = sizeof message,
                      .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                      .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP,
                      .nlmsg_seq = 1,
                      .nlmsg_pid = 0};
    message.request.sdiag_family = AF_UNIX;
    message.request.udiag_states = ~0u;
    message.request.udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER;
    return send(diag.get(), &message, sizeof message, 0) == static_cast<ssize_t>(sizeof message);
  }
  void read_all(const Fd& diag) {
    alignas(nlmsghdr) std::array<char, 1 << 16> buffer{};
    for (std::size_t i = 0; i < socket_lines_max; ++i) {
      const ssize_t size = recv(diag.get(), buffer.data(), buffer.size(), 0);
      if (size <= 0) return;
      auto left = static_cast<std::size_t>(size);
      const auto* message = reinterpret_cast<const nlmsghdr*>(buffer.data());
      for (; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
        if (message->nlmsg_type != SOCK_DIAG_BY_FAMILY) return;  // the end, or an error
        add(message);
      }
    }
  }
  void add(const nlmsghdr* message) {
    const auto* one = static_cast<const unix_diag_msg*>(NLMSG_DATA(message));
    auto left = message->nlmsg_len - NLMSG_LENGTH(sizeof *one);
    const auto* part = reinterpret_cast<const rtattr*>(one + 1);
    for (; RTA_OK(part, left); part = RTA_NEXT(part, left)) {
      if (part->rta_type == UNIX_DIAG_NAME) named_.insert(one->udiag_ino);
      if (part->rta_type == UNIX_DIAG_PEER && RTA_PAYLOAD(part) >= sizeof(std::uint32_t))
        peer_of_[one->udiag_ino] = *static_cast<const std::uint32_t*>(RTA_DATA(part));
    }
  }

  std::map<unsigned long, unsigned long> peer_of_;  // by inode
  std::set<unsigned long> named_;
};

/// The inode of a socket; 0: the link of the descriptor is none to a socket.
unsigned long inode_of(const std::filesystem::path& descriptor) {
  std::error_code error;
  const std::string link = std::filesystem::read_symlink(descriptor, error).string();
  unsigned long inode = 0;
  return std::sscanf(link.c_str(), "socket:[%lu]", &inode) == 1 ? inode : 0;
}

/// The inodes of the sockets that `socket` stands for.
std::vector<unsigned long> inodes_of(const ProcessSocket& socket) {
  const std::filesystem::path folder = fmt::format("/proc/{}/fd", socket.pid);
  if (socket.fd != ProcessSocket::any) return {inode_of(folder / std::to_string(socket.fd))};
  std::vector<unsigned long> inodes;
  std::error_code error;
  std::size_t seen = 0;
  const std::filesystem::directory_iterator entries(folder, error);
  for (auto entry = begin(entries); !error && entry != end(entries); entry.increment(error)) {
    if (seen++ == socket_lines_max) break;
    if (const unsigned long inode = inode_of(entry->path()); inode != 0) inodes.push_back(inode);
  }
  return inodes;
}

}  // namespace

std::set<ProcessSocket> opened_sockets(const std::set<ProcessSocket>& sockets) {
  std::set<ProcessSocket> opened;
  if (sockets.empty()) return opened;
  const ReadRights rights;
  const UnixSockets unix_sockets;
  std::map<std::uint32_t, TcpSockets> by_process;
  for (const ProcessSocket& socket : sockets) {
    const auto [found, is_new] = by_process.try_emplace(socket.pid);
    TcpSockets& tcp = found->second;
    if (is_new)
      for (const char* const protocol : {"tcp", "tcp6"})
        tcp.add(fmt::format("/proc/{}/net/{}", socket.pid, protocol));
    const auto is_opened = [&](unsigned long inode) {
      const auto port = tcp.port_of.find(inode);
      return (port != tcp.port_of.end() && !tcp.listening.contains(port->second)) ||
             unix_sockets.has_connected(inode);
    };
    const std::vector<unsigned long> inodes = inodes_of(socket);
    if (!inodes.empty() && std::ranges::all_of(inodes, is_opened)) opened.insert(socket);
  }
  return opened;
}

}  // namespace overdue

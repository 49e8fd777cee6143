#include "live/other_ends.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "base/read_text.h"
#include "base/thread_rights.h"

namespace overdue {
namespace {

constexpr std::size_t wanted_max = 100, looked_at_max = 20'000, open_files_max = 4'000,
                      sockets_max = 100'000, mounts_max = 20'000;

/// Link of descriptors of programs that serve a file system.
constexpr std::string_view fuse_device = "/dev/fuse";

/// Links of descriptors of programs that show terminals, and of those in containers.
constexpr std::string_view terminals = "/dev/ptmx", own_terminals = "/dev/pts/ptmx";

/// What the link of a descriptor of the other end says, and which descriptors of it count.
struct Wanted {
  const AwaitedEnd* end = nullptr;
  std::string link;             ///< "pipe:[81]", "socket:[4711]"
  std::string connection = {};  ///< to the kernel, of a program that serves a file system
};

/// "127.0.0.1:8080" or "[::1]:8080" as /proc/net/tcp and tcp6 write it: each four bytes as a number
/// of this machine. Empty: no such text.
std::string hex_endpoint(std::string_view endpoint) {
  const std::size_t colon = endpoint.rfind(':');
  if (colon == endpoint.npos) return {};
  unsigned port = 0;
  const std::string_view digits = endpoint.substr(colon + 1);
  const auto [last, bad] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (bad != std::errc() || last != digits.data() + digits.size()) return {};
  std::string address(endpoint.substr(0, colon));
  const bool is_ipv6 = address.starts_with('[') && address.ends_with(']');
  if (is_ipv6) address = address.substr(1, address.size() - 2);
  std::array<std::uint32_t, 4> words{};
  if (inet_pton(is_ipv6 ? AF_INET6 : AF_INET, address.c_str(), words.data()) != 1) return {};
  // The other end of ::ffff:127.0.0.1 may be a socket of IPv4, whose row has no prefix.
  const bool is_mapped = is_ipv6 && words[0] == 0 && words[1] == 0 && words[2] == htonl(0xffff);
  std::string text;
  for (std::size_t i = is_mapped ? 3 : 0; i < (is_ipv6 ? 4 : 1); ++i)
    text += fmt::format("{:08X}", words[i]);
  return fmt::format("{}:{:04X}", text, port);
}

/// A row of /proc/net/tcp or tcp6.
struct SocketRow {
  std::string local, remote;
  bool listens = false;
  std::string inode;
};

std::vector<SocketRow> sockets_seen_by(std::uint32_t pid, const char* table) {
  std::vector<SocketRow> rows;
  std::ifstream file(fmt::format("/proc/{}/net/{}", pid, table));
  std::string line;
  std::getline(file, line);
  while (rows.size() < sockets_max && std::getline(file, line)) {
    std::array<char, 64> local{}, remote{}, inode{};
    unsigned state = 0;
    if (std::sscanf(line.c_str(), "%*s %63s %63s %x %*s %*s %*s %*s %*s %63s", local.data(),
                    remote.data(), &state, inode.data()) == 4)
      rows.push_back({local.data(), remote.data(), state == 10, inode.data()});
  }
  return rows;
}

/// Whether the row's listener takes connections to `endpoint`: at this address, or at any.
bool is_listener_of(const SocketRow& row, const std::string& endpoint) {
  const std::size_t port = endpoint.find(':'), of_row = row.local.find(':');
  if (!row.listens || row.local.substr(of_row) != endpoint.substr(port)) return false;
  const std::string address = row.local.substr(0, of_row);
  return row.local == endpoint || address.find_first_not_of('0') == address.npos;
}

/// The socket at the other end of a TCP connection, else the one that listens there.
std::string tcp_peer(const AwaitedEnd& end) {
  const std::string remote = hex_endpoint(end.object.remote);
  const std::string local = hex_endpoint(end.object.local);
  std::string listener;
  if (remote.empty()) return {};
  for (const char* table : {"tcp", "tcp6"})
    for (const SocketRow& row : sockets_seen_by(end.pid, table)) {
      const bool is_peer = !local.empty() && row.local.ends_with(remote) &&
                           row.remote.ends_with(local) && row.inode != "0";
      if (is_peer) return row.inode;
      if (is_listener_of(row, remote)) listener = row.inode;
    }
  return listener;
}

/// The socket that listens at the path: "unix /run/x".
std::string unix_listener(const AwaitedEnd& end) {
  constexpr unsigned accepts = 0x10000;  // __SO_ACCEPTCON
  const std::string path = end.object.text.substr(std::string_view("unix ").size());
  std::ifstream file(fmt::format("/proc/{}/net/unix", end.pid));
  std::string line;
  for (std::size_t i = 0; i < sockets_max && std::getline(file, line); ++i) {
    std::array<char, 64> inode{};
    std::array<char, 256> at{};
    unsigned flags = 0;
    if (std::sscanf(line.c_str(), "%*s %*s %*s %x %*s %*s %63s %255s", &flags, inode.data(),
                    at.data()) == 3 &&
        (flags & accepts) && path == at.data())
      return inode.data();
  }
  return {};
}

/// Number of the connection of the program that serves the path; or empty. No look at the path
/// itself: a program that does not answer would stop us too.
std::string fuse_connection(const AwaitedEnd& end) {
  std::ifstream file(fmt::format("/proc/{}/mountinfo", end.pid));
  std::string line, connection;
  std::size_t longest = 0;
  for (std::size_t i = 0; i < mounts_max && std::getline(file, line); ++i) {
    std::istringstream words(line);
    std::string skipped, device, point;
    words >> skipped >> skipped >> device >> skipped >> point;
    const std::string_view path = end.object.text;
    const bool is_below = path.starts_with(point) && (path.size() == point.size() || point == "/" ||
                                                      path[point.size()] == '/');
    if (!is_below || point.size() < longest) continue;
    longest = point.size();
    const bool is_fuse = line.find(" - fuse") != line.npos && device.starts_with("0:");
    connection = is_fuse ? device.substr(2) : "";
  }
  return connection;
}

/// The value of a line of /proc/PID/fdinfo: of "tty-index:", "fuse_connection:"; or empty.
std::string value_in(const std::string& information, std::string_view key) {
  std::ifstream file(information);
  std::string word, value;
  while (file >> word)
    if (word == key && file >> value) return value;
  return {};
}

std::string link_of(const AwaitedEnd& end) {
  constexpr std::string_view pipe = "pipe ";
  if (end.object.text.starts_with(pipe))
    return fmt::format("pipe:[{}]", std::string_view(end.object.text).substr(pipe.size()));
  if (end.object.kind == "pipe") return end.object.text;  // a named one
  if (end.object.text.starts_with(terminal)) return std::string(terminals);
  if (end.object.kind == served_path) return std::string(fuse_device);
  const std::string inode = end.object.kind == "unix" ? unix_listener(end) : tcp_peer(end);
  return inode.empty() ? "" : fmt::format("socket:[{}]", inode);
}

/// Whether the descriptor is open for the other direction of a pipe, or shows the terminal, or
/// serves the file system.
bool is_other_end(const Wanted& wanted, const std::string& information) {
  const AwaitedEnd& end = *wanted.end;
  // Older kernels do not say which file system a descriptor serves: no program is named.
  if (end.object.kind == served_path)
    return value_in(information, "fuse_connection:") == wanted.connection;
  if (end.object.text.starts_with(terminal))
    return value_in(information, "tty-index:") ==
           std::string_view(end.object.text).substr(terminal.size());
  if (end.object.kind != "pipe") return true;
  const std::string octal = value_in(information, "flags:");
  int flags = 0;
  const auto [last, bad] = std::from_chars(octal.data(), octal.data() + octal.size(), flags, 8);
  if (bad != std::errc() || last == octal.data()) return false;
  const int mode = flags & O_ACCMODE;
  return mode == O_RDWR || mode == (end.writes ? O_RDONLY : O_WRONLY);
}

bool is_stopped(std::uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/status", pid));
  std::string line;
  while (std::getline(file, line))
    if (line.starts_with("State:"))
      return line.find('T') != line.npos || line.find("(t") != line.npos;
  return false;
}

void look_at(std::uint32_t pid, const std::vector<Wanted>& wanted, std::vector<OtherEnd>& found) {
  std::error_code error;
  std::size_t seen = 0;
  const std::filesystem::directory_iterator folder(fmt::format("/proc/{}/fd", pid), error);
  std::set<const AwaitedEnd*> known;
  for (auto entry = begin(folder); !error && entry != end(folder) && seen++ < open_files_max;
       entry.increment(error)) {
    std::error_code unreadable;
    const std::string link = std::filesystem::read_symlink(entry->path(), unreadable).string();
    for (const Wanted& one : wanted) {
      const bool is_same = one.link == link || (one.link == terminals && link == own_terminals);
      if (!is_same || known.contains(one.end)) continue;
      const std::string number = entry->path().filename().string();
      if (!is_other_end(one, fmt::format("/proc/{}/fdinfo/{}", pid, number))) continue;
      known.insert(one.end);
      found.push_back({.object = one.end->object.text,
                       .process = {pid, pid, read_word(fmt::format("/proc/{}/comm", pid))},
                       .is_stopped = is_stopped(pid)});
    }
  }
}

/// A process that waits at one end often has the other end open, too, and does not use it.
void leave_out_waiters(const std::vector<Wanted>& wanted, std::vector<OtherEnd>& found) {
  for (const Wanted& one : wanted) {
    const auto is_of_another = [&](const OtherEnd& end) {
      return end.object == one.end->object.text && end.process.pid != one.end->pid;
    };
    if (std::ranges::none_of(found, is_of_another)) continue;
    std::erase_if(found, [&](const OtherEnd& end) {
      return end.object == one.end->object.text && end.process.pid == one.end->pid;
    });
  }
}

}  // namespace

std::vector<OtherEnd> find_other_ends(const std::set<AwaitedEnd>& ends) {
  if (ends.empty()) return {};
  const ReadRights rights;  // the other end may be another user's
  std::vector<Wanted> wanted;
  for (const AwaitedEnd& end : ends) {
    if (wanted.size() == wanted_max) break;
    Wanted one{.end = &end, .link = link_of(end)};
    if (end.object.kind == served_path) one.connection = fuse_connection(end);
    const bool is_known = !one.link.empty() && (one.link != fuse_device || !one.connection.empty());
    if (is_known) wanted.push_back(std::move(one));
  }
  std::vector<OtherEnd> found;
  if (wanted.empty()) return found;
  std::error_code error;
  std::size_t processes = 0;
  const std::filesystem::directory_iterator folder("/proc", error);
  for (auto entry = begin(folder); !error && entry != end(folder) && processes < looked_at_max;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::uint32_t pid = 0;
    const auto [last, bad] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (bad != std::errc() || last != name.data() + name.size()) continue;
    ++processes;
    look_at(pid, wanted, found);
  }
  leave_out_waiters(wanted, found);
  return found;
}

}  // namespace overdue

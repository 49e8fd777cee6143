#include "live/socket_queues.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "base/thread_rights.h"
#include "base/time.h"
#include "core/socket_schema.h"

namespace overdue {
namespace {

constexpr std::size_t sampled_processes = 256, sampled_sockets = 4096, rows_of_table = 100'000;
constexpr Duration between_samples = std::chrono::milliseconds(20);
constexpr Duration between_searches = std::chrono::milliseconds(100);
constexpr int sampling_share = 20;

/// "0100007F:1F90" as "127.0.0.1:8080". The words are numbers of this machine.
std::string text_of_endpoint(std::string_view hex) {
  const std::size_t colon = hex.find(':');
  if (colon != 8 && colon != 32) return {};
  std::array<std::uint32_t, 4> words{};
  for (std::size_t i = 0; i < colon / 8; ++i)
    std::from_chars(hex.data() + 8 * i, hex.data() + 8 * (i + 1), words[i], 16);
  unsigned port = 0;
  std::from_chars(hex.data() + colon + 1, hex.data() + hex.size(), port, 16);
  std::array<char, INET6_ADDRSTRLEN> address{};
  const bool is_ipv6 = colon == 32;
  inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, words.data(), address.data(), address.size());
  return is_ipv6 ? fmt::format("[{}]:{}", address.data(), port)
                 : fmt::format("{}:{}", address.data(), port);
}

bool is_any_address(std::string_view hex) {
  return hex.find_first_not_of("0:") == hex.npos;
}

/// The inodes of the open sockets of a process.
std::set<std::uint64_t> sockets_of_process(const std::filesystem::path& process) {
  std::set<std::uint64_t> inodes;
  std::error_code error;
  const std::filesystem::directory_iterator entries(process / "fd", error);
  for (auto entry = begin(entries); !error && entry != end(entries); entry.increment(error)) {
    std::error_code gone;
    const std::string link = std::filesystem::read_symlink(entry->path(), gone).string();
    unsigned long inode = 0;
    if (std::sscanf(link.c_str(), "socket:[%lu]", &inode) == 1) inodes.insert(inode);
    if (inodes.size() >= sampled_sockets) break;
  }
  return inodes;
}

/// Calls `use` for each socket in a table of the network namespace of the process.
template <typename Use>
void read_sockets(const Proc& proc, std::uint32_t pid, std::string_view protocol, const Use& use) {
  std::ifstream rows(proc.root() / std::to_string(pid) / "net" / protocol);
  std::string row;
  for (std::size_t i = 0; i < rows_of_table && std::getline(rows, row); ++i)
    if (std::optional<socket_queue> socket = socket_of_row(protocol, row)) use(*socket);
}

template <typename T>
void deliver_sample(const T& record, const Schema& schema, const RecordHandler& handler) {
  handler({&schema, std::as_bytes(std::span(&record, 1))});
}

template <typename T>
void begin_sample(T& record, std::uint16_t kind, KernelTime now) {
  record.header.time_ns = static_cast<u64>(now.time_since_epoch().count());
  record.header.kind = kind;
  record.header.size = sizeof record;
}

}  // namespace

std::optional<socket_queue> socket_of_row(std::string_view protocol, const std::string& row) {
  constexpr unsigned is_listening = 10;  // TCP_LISTEN
  std::array<char, 64> local{}, remote{};
  unsigned state = 0;
  unsigned long send = 0, receive = 0, inode = 0, drops = 0;
  // "0: 0100007F:1F90 00000000:0000 07 00000000:00000000 00:00000000 00000000  0  0 4711 2 ffff… 0"
  if (std::sscanf(row.c_str(), "%*s %63s %63s %x %lx:%lx %*s %*s %*s %*s %lu %*s %*s %lu",
                  local.data(), remote.data(), &state, &send, &receive, &inode, &drops) < 6)
    return std::nullopt;
  const bool is_tcp = protocol.starts_with("tcp");
  if (inode == 0 || (is_tcp && state == is_listening)) return std::nullopt;
  socket_queue socket{};
  socket.inode = inode;
  socket.receive_bytes = receive;
  socket.send_bytes = send;
  socket.drops = is_tcp ? 0 : drops;  // another column
  std::string text = fmt::format("{} {}", protocol.substr(0, 3), text_of_endpoint(local.data()));
  if (!is_any_address(remote.data())) text += " to " + text_of_endpoint(remote.data());
  std::memcpy(socket.text, text.data(), std::min(text.size(), sizeof socket.text - 1));
  return socket;
}

softnet_counts softnet_of(std::istream& text) {
  softnet_counts counts{};
  std::string line;
  for (std::size_t i = 0; i < rows_of_table && std::getline(text, line); ++i) {
    unsigned long packets = 0, dropped = 0, squeezed = 0;
    if (std::sscanf(line.c_str(), "%lx %lx %lx", &packets, &dropped, &squeezed) != 3) continue;
    counts.packets += packets;
    counts.dropped += dropped;
    counts.squeezed += squeezed;
  }
  return counts;
}

void SocketQueues::find_processes(const std::vector<member>& threads) {
  std::map<std::uint32_t, Process> found;
  for (const member& thread : threads) {
    if (found.size() >= sampled_processes) break;
    const std::optional<ThreadStatus> status = proc_.thread(thread.tid);
    if (!status || status->has_ended() || found.contains(status->pid)) continue;
    const std::filesystem::path folder = proc_.root() / std::to_string(status->pid);
    const std::optional<ThreadStatus> first = proc_.thread(status->pid);
    std::error_code error;
    found[status->pid] = {.comm = first ? first->comm : status->comm,
                          .net = std::filesystem::read_symlink(folder / "ns/net", error).string(),
                          .sockets = sockets_of_process(folder)};
    keep_drops(status->pid, found[status->pid].net);
  }
  processes_ = std::move(found);
}

/// A socket may be found long after it was opened: what it had dropped when its namespace was read
/// first is not of this session, and all else is.
void SocketQueues::keep_drops(std::uint32_t pid, const std::string& net) {
  if (!nets_.insert(net).second) return;
  for (const char* const protocol : {"udp", "udp6"})
    read_sockets(proc_, pid, protocol, [this](const socket_queue& socket) {
      if (socket.drops > 0) drops_before_[socket.inode] = socket.drops;
    });
}

void SocketQueues::report(socket_queue& socket, KernelTime now, bool all,
                          const RecordHandler& handler) {
  const auto owner = std::ranges::find_if(
      processes_, [&](const auto& one) { return one.second.sockets.contains(socket.inode); });
  if (owner == processes_.end()) return;
  const auto before = drops_before_.find(socket.inode);
  if (before != drops_before_.end()) socket.drops -= std::min(before->second, socket.drops);
  const auto known = last_.find(socket.inode);
  if (known == last_.end() && last_.size() >= sampled_sockets) return;
  if (!all && known != last_.end() && known->second.receive_bytes == socket.receive_bytes &&
      known->second.send_bytes == socket.send_bytes && known->second.drops == socket.drops)
    return;
  last_[socket.inode] = socket;
  begin_sample(socket, RECORD_SOCKET_QUEUE, now);
  socket.header.pid = socket.header.tid = owner->first;
  const std::string& comm = owner->second.comm;
  std::memcpy(socket.header.comm, comm.data(), std::min<std::size_t>(comm.size(), COMM_SIZE - 1));
  deliver_sample(socket, socket_queue_schema, handler);
}

void SocketQueues::sample(const std::vector<member>& threads, bool all,
                          const RecordHandler& handler) {
  const KernelTime begin = KernelClock::now();
  const ReadRights rights;
  if (begin >= next_search_) {
    find_processes(threads);
    next_search_ = begin + between_searches;
  }
  std::set<std::string> seen;
  for (const auto& [pid, process] : processes_) {
    if (process.sockets.empty() || !seen.insert(process.net).second) continue;
    for (const char* const protocol : {"tcp", "tcp6", "udp", "udp6"})
      read_sockets(proc_, pid, protocol,
                   [&](socket_queue& socket) { report(socket, begin, all, handler); });
  }
  std::ifstream softnet(proc_.root() / "net/softnet_stat");
  softnet_counts counts = softnet_of(softnet);
  if (all || counts.dropped != packets_.dropped || counts.squeezed != packets_.squeezed) {
    packets_ = counts;
    begin_sample(counts, RECORD_SOFTNET, begin);
    deliver_sample(counts, softnet_schema, handler);
  }
  const KernelTime now = KernelClock::now();
  next_ = now + std::max(between_samples, sampling_share * (now - begin));
}

}  // namespace overdue

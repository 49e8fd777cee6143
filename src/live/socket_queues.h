#pragma once

#include <cstdint>
#include <istream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bpf/socket_queues.h"
#include "core/record.h"
#include "kernel/membership.h"
#include "target/proc.h"

namespace overdue {

/// A row of /proc/net/tcp, tcp6, udp or udp6; empty: no such row, or of a listening socket, whose
/// queue has connections, not bytes.
std::optional<socket_queue> socket_of_row(std::string_view protocol, const std::string& row);

/// The sums of /proc/net/softnet_stat.
softnet_counts softnet_of(std::istream& text);

/// Samples the queues of the TCP and UDP sockets that processes of the target have open, and the
/// packets that the kernel dropped. Used by one thread.
class SocketQueues {
 public:
  explicit SocketQueues(Proc proc = Proc()) : proc_(std::move(proc)) {}

  /// The time of the next sample. Samples take at most a twentieth of the time.
  KernelTime due() const { return next_; }
  /// A record of each socket that is new or has changed, and of the packets. `threads`: of the
  /// target. `all`: also sockets that have not changed.
  void sample(const std::vector<member>& threads, bool all, const RecordHandler& handler);

 private:
  struct Process {
    std::string comm;
    std::string net;  ///< its network namespace
    std::set<std::uint64_t> sockets;
  };

  void find_processes(const std::vector<member>& threads);
  void keep_drops(std::uint32_t pid, const std::string& net);
  void report(socket_queue& socket, KernelTime now, bool all, const RecordHandler& handler);

  Proc proc_;
  KernelTime next_{}, next_search_{};
  std::map<std::uint32_t, Process> processes_;           ///< by pid
  std::map<std::uint64_t, socket_queue> last_;           ///< by inode
  std::set<std::string> nets_;                           ///< network namespaces that have been read
  std::map<std::uint64_t, std::uint64_t> drops_before_;  ///< by inode: not of this session
  softnet_counts packets_{};                             ///< last
};

}  // namespace overdue

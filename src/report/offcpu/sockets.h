#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "bpf/socket_queues.h"
#include "core/members.h"
#include "core/record.h"
#include "report/offcpu/table.h"

namespace overdue {

/// The bytes in a queue of a socket.
struct QueueBytes {
  std::uint64_t now = 0;   ///< at the end
  std::uint64_t peak = 0;  ///< of the samples, that at the begin included

  void set(std::uint64_t bytes);
};

/// A socket, and where the threads of its process were meanwhile.
struct OffcpuSocket {
  std::uint32_t pid = 0;
  std::string comm{};
  std::string text{};  ///< protocol and addresses
  QueueBytes receive{}, send{};
  std::uint64_t drops = 0;  ///< packets without room in the socket
  OffcpuRow threads{};      ///< all of the process, summed
  /// Of the peak of the receive queue with the time that the threads waited for a CPU, over the
  /// intervals; empty: not known.
  std::optional<double> correlation{};
};

/// The sockets of the target: of a session or an interval.
struct OffcpuNet {
  std::vector<OffcpuSocket> sockets{};  ///< largest receive queue first
  std::uint64_t dropped = 0;            ///< packets, before any socket, on all CPUs
  std::uint64_t squeezed = 0;           ///< times that softirqs left packets for later
};

void describe(Members& member, const OffcpuSocket& socket);
void describe(Members& member, const OffcpuNet& net);

/// Collects the samples of sockets. Used by one thread.
class OffcpuSockets {
 public:
  void add(const Record& record);
  /// Since the last call of end_interval(), or since the start. `processes`: rows by process, of
  /// the same time.
  OffcpuNet interval(const std::vector<OffcpuRow>& processes) const;
  OffcpuNet total(const std::vector<OffcpuRow>& processes) const;
  /// `processes`: rows of the interval that ends. One of less than half the longest is no pair.
  void end_interval(const std::vector<OffcpuRow>& processes, Duration length);

 private:
  /// Figures of a socket for a time.
  struct Figures {
    QueueBytes receive, send;
    std::uint64_t drops_before = 0;
  };
  /// Pairs of numbers, one pair an interval.
  class Pairs {
   public:
    void add(double x, double y);
    /// Pearson's; empty: fewer than 5 pairs, or one of the numbers is always the same.
    std::optional<double> correlation() const;

   private:
    double count_ = 0, x_ = 0, y_ = 0, xx_ = 0, yy_ = 0, xy_ = 0;
  };
  struct Socket {
    std::uint32_t pid = 0;
    std::string comm, text;
    std::uint64_t drops = 0;
    Figures total, interval;
    Pairs pairs;
  };
  struct Packets {
    std::uint64_t dropped = 0, squeezed = 0;
  };

  void add_socket(const socket_queue& record);
  OffcpuNet figures(const std::vector<OffcpuRow>& processes, Figures Socket::* of,
                    const Packets& before) const;

  std::map<std::uint64_t, Socket> sockets_;  ///< by inode
  std::optional<Packets> at_start_;
  Packets at_interval_, now_;
  Duration longest_interval_{};
};

/// The sockets that have or had something in a queue. `top`: their number; 0: all.
std::string sockets_text(const OffcpuNet& net, std::size_t top);

}  // namespace overdue

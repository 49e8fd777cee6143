#include "report/offcpu/sockets.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

#include <fmt/format.h>

#include "base/text.h"
#include "core/socket_schema.h"
#include "sinks/text_format.h"

namespace overdue {
namespace {

constexpr std::size_t kept_sockets_max = 20'000;  // a file may have more than any session
constexpr double least_pairs = 5;

std::string bytes_or_dash(std::uint64_t bytes) {
  return bytes == 0 ? "-" : bytes_text(bytes);
}

std::string socket_text(const OffcpuSocket& socket) {
  constexpr std::string_view line = "{:>8} {:>8} {:>8} {:>8} {:>7}  {} of {}[{}]\n";
  std::string text =
      fmt::format(line, bytes_or_dash(socket.receive.now), bytes_or_dash(socket.receive.peak),
                  bytes_or_dash(socket.send.now), bytes_or_dash(socket.send.peak),
                  socket.drops == 0 ? "-" : grouped(socket.drops), printable(socket.text),
                  printable(socket.comm), socket.pid);
  text += fmt::format("    meanwhile {} on CPU, {} blocked, {} waiting for a CPU\n",
                      duration_text(socket.threads.oncpu_ns),
                      duration_text(socket.threads.blocked_ns()),
                      duration_text(socket.threads.runnable_ns()));
  if (socket.correlation)
    text += fmt::format("    UNREAD and the waits for a CPU: correlation {:.2f}\n",
                        *socket.correlation);
  return text;
}

}  // namespace

void QueueBytes::set(std::uint64_t bytes) {
  now = bytes;
  peak = std::max(peak, bytes);
}

void describe(Members& member, const QueueBytes& bytes) {
  member.type("offcpu_queue", "Bytes in a queue of a socket");
  member("bytes", bytes.now, {.help = "at the end"});
  member("peak_bytes", bytes.peak, {.help = "of the samples"});
}

void describe(Members& member, const OffcpuSocket& socket) {
  member.type("offcpu_socket", "A socket of the target, and where its process was meanwhile");
  member("pid", socket.pid, {.help = "a process that has the socket open"});
  member("comm", socket.comm);
  member("socket", socket.text, {.help = "protocol, local address, and that of the other side"});
  member("receive", socket.receive, {.help = "received, and not read by the program"});
  member("send", socket.send, {.help = "written, and not sent or not acknowledged"});
  member("drops", socket.drops, {.help = "packets for which the socket had no room (UDP)"});
  member("oncpu_ns", socket.threads.oncpu_ns, {.help = "of all threads of the process"});
  member("runnable_ns", socket.threads.runnable_ns(),
         {.help = "likewise: ready, and without a CPU"});
  member("blocked_ns", socket.threads.blocked_ns(), {.help = "likewise: until a wake-up"});
  member("correlation", socket.correlation,
         {.help = "of the receive queue's peak with runnable_ns, over the intervals: -1 to 1; "
                  "missing: fewer than 5 intervals, or one of the two never changed"});
}

void describe(Members& member, const OffcpuNet& net) {
  member.type("offcpu_net", "The sockets of the target");
  member("sockets", net.sockets, {.help = "largest receive queue first", .below = true});
  member("dropped", net.dropped,
         {.help = "packets that the kernel dropped before any socket, on all CPUs (softnet)"});
  member("squeezed", net.squeezed,
         {.help = "times that a softirq ran out of time and left packets for later"});
}

void OffcpuSockets::Pairs::add(double x, double y) {
  count_ += 1;
  x_ += x;
  y_ += y;
  xx_ += x * x;
  yy_ += y * y;
  xy_ += x * y;
}

std::optional<double> OffcpuSockets::Pairs::correlation() const {
  const double spread_x = count_ * xx_ - x_ * x_, spread_y = count_ * yy_ - y_ * y_;
  if (count_ < least_pairs || spread_x <= 0 || spread_y <= 0) return std::nullopt;
  const double value = (count_ * xy_ - x_ * y_) / std::sqrt(spread_x) / std::sqrt(spread_y);
  return std::clamp(value, -1.0, 1.0);
}

void OffcpuSockets::add_socket(const socket_queue& record) {
  const auto found = sockets_.find(record.inode);
  if (found == sockets_.end() && sockets_.size() >= kept_sockets_max) return;
  Socket& socket = sockets_[record.inode];
  if (found == sockets_.end()) socket.text = fixed_text(record.text);
  socket.pid = record.header.pid;
  socket.comm = fixed_text(record.header.comm);
  socket.drops = record.drops;
  for (Figures* figures : {&socket.total, &socket.interval}) {
    figures->receive.set(record.receive_bytes);
    figures->send.set(record.send_bytes);
  }
}

void OffcpuSockets::add(const Record& record) {
  if (record.schema->id == RECORD_SOCKET_QUEUE) add_socket(record.as<socket_queue>());
  if (record.schema->id != RECORD_SOFTNET) return;
  const auto counts = record.as<softnet_counts>();
  now_ = {counts.dropped, counts.squeezed};
  if (at_start_) return;
  at_start_ = at_interval_ = now_;
}

OffcpuNet OffcpuSockets::figures(const std::vector<OffcpuRow>& processes, Figures Socket::* of,
                                 const Packets& before) const {
  OffcpuNet net;
  for (const auto& [inode, socket] : sockets_) {
    const Figures& figures = socket.*of;
    OffcpuSocket row{.pid = socket.pid,
                     .comm = socket.comm,
                     .text = socket.text,
                     .receive = figures.receive,
                     .send = figures.send,
                     .drops = growth(socket.drops, figures.drops_before),
                     .correlation = socket.pairs.correlation()};
    const auto process = std::ranges::find(processes, socket.pid, &OffcpuRow::pid);
    if (process != processes.end()) row.threads = *process;
    net.sockets.push_back(std::move(row));
  }
  std::ranges::sort(net.sockets, [](const OffcpuSocket& one, const OffcpuSocket& other) {
    const auto key = [](const OffcpuSocket& socket) {
      return std::tuple(~socket.receive.peak, ~socket.drops, ~socket.send.peak, socket.pid,
                        std::string_view(socket.text));
    };
    return key(one) < key(other);
  });
  net.dropped = growth(now_.dropped, before.dropped);
  net.squeezed = growth(now_.squeezed, before.squeezed);
  return net;
}

OffcpuNet OffcpuSockets::interval(const std::vector<OffcpuRow>& processes) const {
  return figures(processes, &Socket::interval, at_interval_);
}

OffcpuNet OffcpuSockets::total(const std::vector<OffcpuRow>& processes) const {
  return figures(processes, &Socket::total, at_start_.value_or(Packets{}));
}

void OffcpuSockets::end_interval(const std::vector<OffcpuRow>& processes, Duration length) {
  longest_interval_ = std::max(longest_interval_, length);
  const bool is_whole = length >= longest_interval_ / 2;
  for (auto& [inode, socket] : sockets_) {
    const auto process = std::ranges::find(processes, socket.pid, &OffcpuRow::pid);
    if (process != processes.end() && is_whole)
      socket.pairs.add(static_cast<double>(socket.interval.receive.peak),
                       static_cast<double>(process->runnable_ns()));
    for (QueueBytes* queue : {&socket.interval.receive, &socket.interval.send})
      queue->peak = queue->now;
    socket.interval.drops_before = socket.drops;
  }
  at_interval_ = now_;
}

std::string sockets_text(const OffcpuNet& net, std::size_t top) {
  constexpr std::string_view line = "{:>8} {:>8} {:>8} {:>8} {:>7}  {}\n";
  std::string rows;
  std::size_t shown = 0, quiet = 0, left_out = 0;
  for (const OffcpuSocket& socket : net.sockets) {
    if (socket.receive.peak + socket.send.peak + socket.drops == 0)
      ++quiet;
    else if (top != 0 && shown == top)
      ++left_out;
    else {
      rows += socket_text(socket);
      ++shown;
    }
  }
  std::string text = "\nsockets\n";
  if (shown > 0)
    text += fmt::format(line, "UNREAD", "PEAK", "UNSENT", "PEAK", "DROPPED", "SOCKET") + rows;
  if (left_out > 0) text += fmt::format("  {} more rows; --top 0 shows all\n", grouped(left_out));
  if (quiet > 0) text += fmt::format("  with empty queues: {}\n", counted(quiet, "socket"));
  if (net.sockets.empty()) text += "  the target has no TCP and no UDP socket open\n";
  return text + fmt::format("  before any socket: {} dropped, softirqs out of time {}\n",
                            counted(net.dropped, "packet"), counted(net.squeezed, "time"));
}

}  // namespace overdue

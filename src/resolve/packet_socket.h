#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/fd.h"
#include "base/time.h"

namespace overdue {

/// One end of a connection that carries whole packets, and descriptors with them.
class PacketSocket {
 public:
  enum class Result { done, timed_out, closed };
  enum class Descriptors { taken, refused };
  struct Received {
    Result result = Result::closed;
    std::span<const std::byte> packet{};  ///< valid until the next receive()
    Fd fd{};
  };

  /// Both ends. Throws Error.
  static std::pair<PacketSocket, PacketSocket> make_pair();
  PacketSocket() = default;
  explicit PacketSocket(Fd fd) : fd_(std::move(fd)) {}

  explicit operator bool() const { return static_cast<bool>(fd_); }
  const Fd& fd() const { return fd_; }
  void reset() { fd_.reset(); }
  /// Releases the descriptor: the caller closes it, or has closed it.
  int release() { return fd_.release(); }

  /// Sets a function that send() and receive() call every few ms while they wait for a deadline;
  /// empty: none.
  void while_waiting(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  /// Waits for room until `deadline`, or without limit.
  Result send(std::span<const std::byte> packet, const Fd& attached = {},
              std::optional<KernelTime> deadline = {});
  /// A packet of more than `most` bytes counts as a closed connection. Without a deadline, the
  /// socket's own timeout limits the wait.
  Received receive(std::size_t most, Descriptors descriptors,
                   std::optional<KernelTime> deadline = {});

 private:
  /// Waits for `events`; false once the deadline has passed.
  bool wait(short events, KernelTime deadline) const;

  Fd fd_;
  std::function<void()> meanwhile_;
  std::vector<std::byte> buffer_;
};

}  // namespace overdue

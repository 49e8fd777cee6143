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
    std::span<const std::byte> packet{};  ///< until the next one is received
    Fd fd{};
  };

  /// Both ends. Throws Error.
  static std::pair<PacketSocket, PacketSocket> make_pair();
  PacketSocket() = default;
  explicit PacketSocket(Fd fd) : fd_(std::move(fd)) {}

  explicit operator bool() const { return static_cast<bool>(fd_); }
  const Fd& fd() const { return fd_; }
  void reset() { fd_.reset(); }
  /// The descriptor, which whoever has it closes, or has closed.
  int release() { return fd_.release(); }

  /// What to do every few ms while one of the others waits until a deadline; empty: nothing.
  void while_waiting(std::function<void()> meanwhile) { meanwhile_ = std::move(meanwhile); }

  /// Waits for room until `deadline`, or without an end.
  Result send(std::span<const std::byte> packet, const Fd& attached = {},
              std::optional<KernelTime> deadline = {});
  /// A packet of more than `most` bytes closes the connection. Without a deadline it waits as long
  /// as the socket's own timeout says.
  Received receive(std::size_t most, Descriptors descriptors,
                   std::optional<KernelTime> deadline = {});

 private:
  /// Waits for `events`; false when the deadline has come.
  bool wait(short events, KernelTime deadline) const;

  Fd fd_;
  std::function<void()> meanwhile_;
  std::vector<std::byte> buffer_;
};

}  // namespace overdue

#include "resolve/packet_socket.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/error.h"

namespace overdue {
namespace {

constexpr std::size_t control_bytes = CMSG_SPACE(sizeof(int));
constexpr std::uint64_t meanwhile_every_ms = 5;

}  // namespace

std::pair<PacketSocket, PacketSocket> PacketSocket::make_pair() {
  int ends[2];
  check_errno(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends),
              "cannot make a connection to the resolver");
  return {PacketSocket(Fd(ends[0])), PacketSocket(Fd(ends[1]))};
}

bool PacketSocket::wait(short events, KernelTime deadline) const {
  while (true) {
    const KernelTime now = KernelClock::now();
    if (now >= deadline) return false;
    const std::uint64_t left = (deadline - now) / std::chrono::milliseconds(1) + 1;
    const std::uint64_t most = meanwhile_ ? meanwhile_every_ms : 60'000;
    pollfd polled{.fd = fd_.get(), .events = events, .revents = 0};
    const int ready = poll(&polled, 1, static_cast<int>(std::min(left, most)));
    if (ready > 0 || (ready < 0 && errno != EINTR)) return true;  // the next call reports the state
    if (meanwhile_) meanwhile_();
  }
}

PacketSocket::Result PacketSocket::send(std::span<const std::byte> packet, const Fd& attached,
                                        std::optional<KernelTime> deadline) {
  iovec part{.iov_base = const_cast<std::byte*>(packet.data()), .iov_len = packet.size()};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[control_bytes] = {};
  if (attached) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    const int number = attached.get();
    std::memcpy(CMSG_DATA(header), &number, sizeof number);
  }
  while (true) {
    const ssize_t sent = sendmsg(fd_.get(), &message, MSG_NOSIGNAL | (deadline ? MSG_DONTWAIT : 0));
    if (sent == std::ssize(packet)) return Result::done;
    if (sent >= 0 || (errno != EINTR && errno != EAGAIN)) return Result::closed;
    if (errno == EAGAIN && (!deadline || !wait(POLLOUT, *deadline))) return Result::timed_out;
  }
}

PacketSocket::Received PacketSocket::receive(std::size_t most, Descriptors descriptors,
                                             std::optional<KernelTime> deadline) {
  buffer_.resize(most);
  iovec part{.iov_base = buffer_.data(), .iov_len = buffer_.size()};
  alignas(cmsghdr) char control[control_bytes];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  while (true) {
    // Without room for them, the kernel closes descriptors that are sent.
    message.msg_control = descriptors == Descriptors::taken ? control : nullptr;
    message.msg_controllen = descriptors == Descriptors::taken ? sizeof control : 0;
    const ssize_t got =
        recvmsg(fd_.get(), &message, MSG_CMSG_CLOEXEC | (deadline ? MSG_DONTWAIT : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      if (!deadline || !wait(POLLIN, *deadline)) return {.result = Result::timed_out};
      continue;
    }
    Received received;
    for (cmsghdr* header = CMSG_FIRSTHDR(&message); got >= 0 && header;
         header = CMSG_NXTHDR(&message, header)) {
      if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header), sizeof number);
      received.fd = Fd(number);
    }
    if (got <= 0 || (message.msg_flags & MSG_TRUNC) != 0) return {};
    received.result = Result::done;
    received.packet = std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(got));
    return received;
  }
}

}  // namespace overdue

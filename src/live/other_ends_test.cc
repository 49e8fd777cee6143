#include "live/other_ends.h"

#include <netinet/in.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/fd.h"
#include "base/ip_text.h"

namespace overdue {
namespace {

/// A process that has accepted one connection, and does nothing with it.
class Holder {
 public:
  explicit Holder(int listens) : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const Fd connection(accept(listens, nullptr, nullptr));
    pause();
    _exit(0);
  }
  ~Holder() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Holder(const Holder&) = delete;
  Holder& operator=(const Holder&) = delete;
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_;
};

/// What the call of a client waits for: the end of `connection`, with addresses as Overdue has
/// them.
AwaitedEnd client_of(const Fd& connection) {
  const auto text = [&](auto get_name) {
    sockaddr_storage address{};
    socklen_t length = sizeof address;
    EXPECT_EQ(get_name(connection.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
    const auto& in = reinterpret_cast<const sockaddr_in&>(address);
    const auto& in6 = reinterpret_cast<const sockaddr_in6&>(address);
    const bool is_ipv6 = address.ss_family == AF_INET6;
    return endpoint_text(
        is_ipv6 ? in6.sin6_addr.s6_addr : reinterpret_cast<const unsigned char*>(&in.sin_addr),
        is_ipv6, ntohs(in.sin_port));
  };
  CallObject object{.kind = "socket", .local = text(getsockname), .remote = text(getpeername)};
  object.text = fmt::format("tcp {}->{}", object.local, object.remote);
  return {.pid = static_cast<std::uint32_t>(getpid()), .object = std::move(object)};
}

template <typename Address>
void expect_holder_found(Address address) {
  const int family = reinterpret_cast<const sockaddr&>(address).sa_family;
  socklen_t length = sizeof address;
  Fd listens(socket(family, SOCK_STREAM, 0));
  if (!listens || bind(listens.get(), reinterpret_cast<sockaddr*>(&address), length) != 0)
    GTEST_SKIP() << "this machine has no such loopback address";
  ASSERT_EQ(listen(listens.get(), 1), 0);
  ASSERT_EQ(getsockname(listens.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const Fd client(socket(family, SOCK_STREAM, 0));
  const Holder holder(listens.get());
  listens = Fd();
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  const AwaitedEnd end = client_of(client);
  const auto found = find_other_ends({end});
  ASSERT_EQ(found.size(), 1u) << end.object.text;
  EXPECT_EQ(found[0].process.pid, holder.pid());
  EXPECT_EQ(found[0].object, end.object.text);
  EXPECT_FALSE(found[0].is_stopped);
}

TEST(OtherEnds, HasWhoHoldsTheOtherEndOverIpv4) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  expect_holder_found(address);
}

TEST(OtherEnds, HasWhoHoldsTheOtherEndOverIpv6) {
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  expect_holder_found(address);
}

TEST(OtherEnds, TakesNoAddressThatIsNone) {
  AwaitedEnd end{.pid = static_cast<std::uint32_t>(getpid()), .object = {}};
  for (const char* remote : {"", "127.0.0.1", "[::1]", "[::1:80", "x:80", "127.0.0.1:80x"}) {
    end.object = {.kind = "socket", .text = "tcp", .remote = remote};
    EXPECT_TRUE(find_other_ends({end}).empty()) << remote;
  }
}

}  // namespace
}  // namespace overdue

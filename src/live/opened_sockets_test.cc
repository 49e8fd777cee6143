#include "live/opened_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <string>

#include <gtest/gtest.h>

#include "base/fd.h"

namespace overdue {
namespace {

ProcessSocket own(const Fd& fd) {
  return {static_cast<std::uint32_t>(getpid()), static_cast<std::uint32_t>(fd.get())};
}

/// A connection to a listening socket of this process.
template <typename Address>
void expect_client_only(int family, Address address, socklen_t size) {
  const Fd listens(socket(family, SOCK_STREAM, 0));
  ASSERT_EQ(bind(listens.get(), reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listens.get(), 1), 0);
  socklen_t length = sizeof address;
  ASSERT_EQ(getsockname(listens.get(), reinterpret_cast<sockaddr*>(&address), &length), 0);
  const Fd client(socket(family, SOCK_STREAM, 0));
  ASSERT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  const Fd server(accept(listens.get(), nullptr, nullptr));
  ASSERT_TRUE(server);
  const auto opened = opened_sockets({own(client), own(server)});
  EXPECT_TRUE(opened.contains(own(client)));
  EXPECT_FALSE(opened.contains(own(server)));
}

TEST(OpenedSockets, OfTcpAreThoseOfTheClient) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  expect_client_only(AF_INET, address, sizeof address);
}

TEST(OpenedSockets, OfTheUnixDomainAreThoseOfTheClient) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = "odt-opened-" + std::to_string(getpid());
  name.copy(address.sun_path + 1, name.size());  // no file: an abstract name
  expect_client_only(AF_UNIX, address,
                     static_cast<socklen_t>(sizeof(sa_family_t) + 1 + name.size()));
}

TEST(OpenedSockets, OfAProcessThatListensAreNotAllOpened) {
  const Fd listens(socket(AF_INET, SOCK_STREAM, 0));
  ASSERT_EQ(listen(listens.get(), 1), 0);
  EXPECT_TRUE(opened_sockets({{static_cast<std::uint32_t>(getpid()), ProcessSocket::any}}).empty());
}

TEST(OpenedSockets, OfAPairAreUnknown) {
  int pair[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
  const Fd one(pair[0]), other(pair[1]);
  EXPECT_TRUE(opened_sockets({own(one), own(other)}).empty());
}

}  // namespace
}  // namespace overdue

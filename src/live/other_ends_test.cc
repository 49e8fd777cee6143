#include "live/other_ends.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
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

/// A child that serves a folder, in a mount namespace of its own, and answers nothing.
class SilentServer {
 public:
  explicit SilentServer(const std::string& folder) {
    int ends[2];
    if (pipe(ends) != 0) return;
    const Fd from(ends[0]), to(ends[1]);
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const Fd device(open("/dev/fuse", O_RDWR | O_CLOEXEC));
      const std::string options =
          fmt::format("fd={},rootmode=40000,user_id=0,group_id=0", device.get());
      const bool serves = unshare(CLONE_NEWNS) == 0 &&
                          mount("", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
                          mount("test", folder.c_str(), "fuse", 0, options.c_str()) == 0;
      if (write(to.get(), serves ? "y" : "n", 1) == 1) pause();
      _exit(0);
    }
    char answer = 'n';
    serves_ = read(from.get(), &answer, 1) == 1 && answer == 'y';
  }
  ~SilentServer() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  SilentServer(const SilentServer&) = delete;
  SilentServer& operator=(const SilentServer&) = delete;
  bool serves() const { return serves_; }
  std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }

 private:
  pid_t pid_ = -1;
  bool serves_ = false;
};

/// Whether some descriptor of the process says which file system it serves.
bool says_what_it_serves(std::uint32_t pid) {
  for (const auto& entry :
       std::filesystem::directory_iterator(fmt::format("/proc/{}/fdinfo", pid))) {
    std::ifstream file(entry.path());
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (text.find("fuse_connection") != text.npos) return true;
  }
  return false;
}

TEST(OtherEnds, HasTheProgramThatServesAPath) {
  std::string folder = "/tmp/overdue_served_XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  {
    const SilentServer server(folder), other(folder);  // each in its own mount namespace
    const auto end_at = [&](std::string path) {
      return AwaitedEnd{.pid = server.pid(),
                        .object = {.kind = served_path, .text = std::move(path)}};
    };
    const auto found = find_other_ends({end_at(folder + "/data"), end_at(folder + "-more/data")});
    if (!server.serves() || !other.serves() || !says_what_it_serves(server.pid())) {
      EXPECT_TRUE(found.empty());
    } else {
      EXPECT_EQ(found.size(), 1u);
      for (const OtherEnd& end : found) {
        EXPECT_EQ(end.process.pid, server.pid());
        EXPECT_EQ(end.object, folder + "/data");
      }
    }
  }
  rmdir(folder.c_str());  // later than the servers: it would end their mounts
}

}  // namespace
}  // namespace overdue

#include "analysis/call_object.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

namespace overdue {
namespace {

call_object raw_object(object_kind kind, std::string_view path = {}) {
  call_object raw{};
  raw.object = kind;
  std::copy(path.begin(), path.end(), raw.path);
  raw.path_size = static_cast<u16>(path.size());
  return raw;
}

TEST(CallObject, HasThePathOfItsFile) {
  using namespace std::string_view_literals;
  call_object raw = raw_object(OBJECT_FILE, "x.log\0app\0log\0"sv);
  EXPECT_EQ(call_object_of(raw).text, "/log/app/x.log");
  EXPECT_EQ(call_object_of(raw).kind, "file");
  raw.flags = OBJECT_DELETED | OBJECT_PATH_CUT;
  EXPECT_EQ(call_object_of(raw).text, "…/log/app/x.log (deleted)");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_FILE)).text, "/");
  const std::string layer(63, 'a');  // as long as names in the folders of container engines
  EXPECT_EQ(call_object_of(raw_object(OBJECT_FILE, layer)).text, "/" + layer + "…");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_PIPE, "queue\0"sv)).text, "/queue");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_PIPE)).text, "pipe 0");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_INTERNAL, "[eventfd]\0"sv)).text, "[eventfd]");
}

TEST(CallObject, HasTheEndsOfItsSocket) {
  call_object raw = raw_object(OBJECT_SOCKET);
  raw.family = AF_INET;
  raw.protocol = 6;
  raw.local_port = 4711;
  raw.remote_port = 80;
  raw.local[0] = raw.remote[0] = 127;
  raw.local[3] = raw.remote[3] = 1;
  raw.flags = OBJECT_IS_CLIENT | OBJECT_HAS_WRITTEN;
  raw.written_ns = 5;
  const CallObject object = call_object_of(raw);
  EXPECT_EQ(object.text, "tcp 127.0.0.1:4711->127.0.0.1:80");
  EXPECT_EQ(object.remote, "127.0.0.1:80");
  EXPECT_EQ(object.side, "client");
  EXPECT_EQ(object.written_ns, 5u);
  EXPECT_FALSE(object.was_resent_in(100));
  raw.resends = 2;
  raw.resent_ns = 50;
  EXPECT_EQ(call_object_of(raw).resends, 2u);
  EXPECT_TRUE(call_object_of(raw).was_resent_in(100));
  EXPECT_FALSE(call_object_of(raw).was_resent_in(101)) << "less than half";
  raw.flags = OBJECT_IS_LISTENER | OBJECT_IS_SERVER;
  raw.remote_port = 0;
  EXPECT_EQ(call_object_of(raw).text, "tcp 127.0.0.1:4711");
  EXPECT_EQ(call_object_of(raw).side, "listener");
  EXPECT_FALSE(call_object_of(raw).written_ns);
}

TEST(CallObject, HasTheNameOfItsUnixSocket) {
  using namespace std::string_view_literals;
  EXPECT_EQ(call_object_of(raw_object(OBJECT_UNIX, "/run/db.sock\0"sv)).text, "unix /run/db.sock");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_UNIX, "\0bus"sv)).text, "unix @bus");
  EXPECT_EQ(call_object_of(raw_object(OBJECT_UNIX)).text, "unix 0");
}

TEST(CallObject, IsWrittenIntoItsArgument) {
  using namespace std::string_view_literals;
  Finding finding;
  finding.arguments = {"op=1", "fd=3"};
  call_object raw = raw_object(OBJECT_FILE, "x\0"sv);
  raw.argument = 1;
  add_object(finding, raw);
  EXPECT_EQ(finding.arguments[1], "fd=3</x>");
  finding.arguments = {"fds=0x1", "nfds=1"};
  raw.argument = CALL_OBJECT_IN_POLL;
  raw.fd = 7;
  add_object(finding, raw);
  EXPECT_EQ(finding.arguments[0], "fds=[7</x>]");
}

TEST(CallObject, HasNoResendsFromBeforeTheOperation) {
  call_object raw = raw_object(OBJECT_SOCKET);
  raw.flags = OBJECT_IS_CLIENT | OBJECT_HAS_WRITTEN;
  raw.written_ns = 1000;
  raw.resends = 2;
  raw.resent_ns = 400;  // the last one 600 before the end
  const auto resent_in = [&raw](std::uint64_t latency_ns) {
    Finding finding;
    finding.latency_ns = latency_ns;
    add_object(finding, raw);
    const CallObject object = finding.object.value_or(CallObject{});
    return std::pair(object.resends, object.resent_ns);
  };
  EXPECT_EQ(resent_in(2000), std::pair(2u, std::uint64_t{400}));
  EXPECT_EQ(resent_in(700), std::pair(2u, std::uint64_t{100})) << "the wait began meanwhile";
  EXPECT_EQ(resent_in(600), std::pair(0u, std::uint64_t{0}));
  EXPECT_EQ(resent_in(100), std::pair(0u, std::uint64_t{0}));
}

TEST(CallObject, DamageIsHarmless) {
  call_object raw;
  std::memset(&raw, 0xff, sizeof raw);
  Finding finding;
  finding.arguments = {"fd=3"};
  add_object(finding, raw);
  EXPECT_EQ(finding.arguments[0], "fd=3");
  for (const object_kind kind : {OBJECT_FILE, OBJECT_SOCKET, OBJECT_UNIX, OBJECT_INTERNAL}) {
    raw.object = kind;
    EXPECT_FALSE(call_object_of(raw).text.empty());
  }
}

}  // namespace
}  // namespace overdue

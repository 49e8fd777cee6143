
#include <arpa/inet.h>
#include <sys/socket.h>

#include <array>
#include <cstring>

#include "kernel/tick.h"
#include "probes/span_fixture.h"
#include "probes/tcp/kinds.h"
#include "probes/tcp/questions_fixture.h"

namespace overdue {
namespace {

class TcpProbe : public SpanTest {
 protected:
  TcpProbe() : SpanTest({SPAN_TCP_CONNECT, SPAN_TCP_ANSWER}) {}
};

/// A socket bound to the loopback address, listening or not.
class Loopback {
 public:
  Loopback(int family, bool listens) : fd_(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (family == AF_INET6) {
      auto& address = reinterpret_cast<sockaddr_in6&>(address_);
      address.sin6_addr = in6addr_loopback;
      length_ = sizeof address;
    } else {
      auto& address = reinterpret_cast<sockaddr_in&>(address_);
      address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      length_ = sizeof address;
    }
    address_.ss_family = static_cast<sa_family_t>(family);
    usable_ = fd_ && bind(fd_.get(), reinterpret_cast<sockaddr*>(&address_), length_) == 0 &&
              getsockname(fd_.get(), reinterpret_cast<sockaddr*>(&address_), &length_) == 0 &&
              (!listens || listen(fd_.get(), 4096) == 0);
  }
  bool usable() const { return usable_; }
  int fd() const { return fd_.get(); }
  /// A new connection; its descriptor is of no use if this fails.
  Fd connect_once() const {
    Fd client(socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), length_);
    return client;
  }
  /// Connects `times` times; whether every attempt succeeded or failed as expected.
  bool connect_times(int times, bool succeeds) const {
    for (int i = 0; i < times; ++i) {
      const Fd client(socket(address_.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const int result =
          connect(client.get(), reinterpret_cast<const sockaddr*>(&address_), length_);
      if ((result == 0) != succeeds) return false;
    }
    return true;
  }
  std::string name() const {
    const u16 port = ntohs(reinterpret_cast<const sockaddr_in&>(address_).sin_port);
    return fmt::format("{}:{}", address_.ss_family == AF_INET6 ? "[::1]" : "127.0.0.1", port);
  }

 private:
  Fd fd_;
  sockaddr_storage address_{};
  socklen_t length_ = 0;
  bool usable_ = false;
};

TEST_F(TcpProbe, EveryConnectIsThereMadeOrRefused) {
  constexpr int made = 30, refused = 7;
  for (const int family : {AF_INET, AF_INET6}) {
    const Loopback listener(family, true), deaf(family, false);
    if (!listener.usable() || !deaf.usable()) continue;  // no IPv6 here
    Child child([&](Child&) {
      if (!listener.connect_times(made, true) || !deaf.connect_times(refused, false)) _exit(1);
    });
    Child bystander([&](Child&) { listener.connect_times(made, true); });
    measure(only(child.pid()));
    want(SPAN_TCP_CONNECT, 1);
    arm();
    bystander.go();
    child.go();
    EXPECT_EQ(child.end(), 0);
    EXPECT_EQ(bystander.end(), 0);
    finish();
    expect_sound();
    EXPECT_EQ(of(SPAN_TCP_CONNECT).size(), std::size_t{made + refused});
    EXPECT_EQ(of(SPAN_TCP_CONNECT, listener.name()).size(), std::size_t{made});
    EXPECT_EQ(of(SPAN_TCP_CONNECT, deaf.name()).size(), std::size_t{refused});
    for (const SeenSpan& span : of(SPAN_TCP_CONNECT)) {
      EXPECT_EQ(span.record.begin_tid, child.pid());
      const ConnectEnds ends = connect_ends(span.record);
      const bool failed = ends.remote == deaf.name();
      EXPECT_EQ(span.is(SPAN_FAILED), failed);
      EXPECT_EQ(ends.error, failed ? ECONNREFUSED : 0);
      if (family == AF_INET) {
        EXPECT_TRUE(ends.local.starts_with("127.0.0.1:")) << ends.local;
      }
      EXPECT_FALSE(ends.local.ends_with(":0")) << ends.local;
    }
    EXPECT_EQ(probe().open_spans(), 0u);
    EXPECT_EQ(receipt().unmatched, 0u);
    EXPECT_EQ(receipt().lost(), nested());
    forget();
  }
}

TEST_F(TcpProbe, AConnectThatHangsIsOpenAtTheEnd) {
  // A listener with a full queue leaves SYNs unanswered.
  Child child([](Child&) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    auto* const any = reinterpret_cast<sockaddr*>(&address);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, any, length) != 0 || listen(listener, 0) != 0 ||
        getsockname(listener, any, &length) != 0)
      _exit(1);
    for (int i = 0; i < 8; ++i)
      connect(socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), any, length);
    pause();
  });
  measure(only(child.pid()));
  want(SPAN_TCP_CONNECT, 1'000'000);
  arm();
  child.go();
  ASSERT_TRUE(child.wait_until_in(SYS_pause));
  usleep(50'000);
  finish();
  const auto spans = of(SPAN_TCP_CONNECT);
  EXPECT_GE(std::count_if(spans.begin(), spans.end(),
                          [](const SeenSpan& span) { return span.is(SPAN_OPEN); }),
            1);
  for (const SeenSpan& span : spans) {
    if (!span.is(SPAN_OPEN)) continue;
    EXPECT_EQ(span.record.begin_tid, child.pid());
    EXPECT_GE(span.record.latency_ns, 50'000'000u);
    EXPECT_TRUE(span.text().starts_with("127.0.0.1:")) << span.text();
  }
}

/// Accepts one connection; answers its question after a while, and then says more, unasked.
void serve_one(int listener) {
  char question = 0;
  const Fd client(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
  if (read(client.get(), &question, 1) != 1) _exit(1);
  for (const char* const words : {"answer", "news"}) {
    usleep(answers_after);
    if (write(client.get(), words, strlen(words)) < 0) _exit(1);
  }
  if (read(client.get(), &question, 1) != 0) _exit(1);  // until the client has gone
}

TEST_F(TcpProbe, AnAnswerIsTheFirstDataThatComesForAQuestion) {
  const Loopback listener(AF_INET, true);
  ASSERT_TRUE(listener.usable());
  Child server([&](Child&) { serve_one(listener.fd()); });
  Child client([&](Child&) {
    const Fd connection = listener.connect_once();
    std::array<char, 16> words{};
    if (write(connection.get(), "?", 1) != 1) _exit(1);
    for (int i = 0; i < 2; ++i)
      if (read(connection.get(), words.data(), words.size()) <= 0) _exit(1);
  });
  MembershipRules rules = only(client.pid());
  rules.pids.push_back(static_cast<std::uint32_t>(server.pid()));
  measure(rules);
  want(SPAN_TCP_ANSWER, 1);
  arm();
  server.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_TCP_ANSWER);
  ASSERT_EQ(answers.size(), 1u) << "the question is none for its server, and news are no answer";
  EXPECT_EQ(answers[0].record.begin_tid, client.pid());
  EXPECT_EQ(connect_ends(answers[0].record).remote, listener.name());
  const std::uint64_t tick_ns = tick_length().count();
  EXPECT_GE(answers[0].record.latency_ns + tick_ns, answers_after * 1000u);
  EXPECT_LT(answers[0].record.latency_ns, 2'000'000'000u);
  EXPECT_FALSE(answers[0].is(SPAN_FOR_CLIENT));
}

TEST_F(TcpProbe, AnAnswerIsForAClientThatWaitsMeanwhile) {
  const Loopback front(AF_INET, true), back(AF_INET, true);
  ASSERT_TRUE(front.usable() && back.usable());
  Child server(
      [&](Child&) { answer_questions(Fd(accept4(back.fd(), nullptr, nullptr, SOCK_CLOEXEC))); });
  Child proxy([&](Child&) {
    const Fd upstream = back.connect_once();
    const Fd client(accept4(front.fd(), nullptr, nullptr, SOCK_CLOEXEC));
    char word = 0;
    ask(upstream);
    if (read(client.get(), &word, 1) != 1) _exit(1);
    ask(upstream);
    if (write(client.get(), &word, 1) != 1) _exit(1);
    ask(upstream);
  });
  Child client([&](Child&) { ask(front.connect_once()); });
  measure(only(proxy.pid()));
  want(SPAN_TCP_ANSWER, 1);
  arm();
  server.go();
  proxy.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(proxy.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_TCP_ANSWER);
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_FALSE(answers[0].is(SPAN_FOR_CLIENT)) << "the proxy has not taken the request yet";
  EXPECT_TRUE(answers[1].is(SPAN_FOR_CLIENT));
  EXPECT_FALSE(answers[2].is(SPAN_FOR_CLIENT)) << "the client has its answer";
}

}  // namespace
}  // namespace overdue

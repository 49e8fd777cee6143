#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "probes/span_fixture.h"
#include "probes/tcp/questions_fixture.h"

namespace overdue {
namespace {

class UnixAnswers : public SpanTest {
 protected:
  UnixAnswers() : SpanTest({SPAN_UNIX_ANSWER, SPAN_TCP_ANSWER}) {}
};

constexpr u64 answers_after_ns = 60'000'000;

/// A socket that listens at an abstract name.
class UnixListener {
 public:
  explicit UnixListener(const std::string& word)
      : fd_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
        name_(fmt::format("overdue test {} {}", word, getpid())) {
    address_.sun_family = AF_UNIX;
    name_.copy(address_.sun_path + 1, sizeof address_.sun_path - 1);
    usable_ = fd_ && bind(fd_.get(), address(), length()) == 0 && listen(fd_.get(), 16) == 0;
  }
  bool usable() const { return usable_; }
  std::string name() const { return "unix @" + name_; }
  Fd connect_once() const {
    Fd client(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connect(client.get(), address(), length()) != 0) _exit(1);
    return client;
  }
  Fd accept_once() const { return Fd(accept4(fd_.get(), nullptr, nullptr, SOCK_CLOEXEC)); }

 private:
  const sockaddr* address() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t length() const {
    return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name_.size());
  }

  Fd fd_;
  std::string name_;
  sockaddr_un address_{};
  bool usable_ = false;
};

TEST_F(UnixAnswers, AreTheFirstDataThatComesForAQuestion) {
  const UnixListener listener("first");
  ASSERT_TRUE(listener.usable());
  Child server([&](Child&) {
    const Fd client = listener.accept_once();
    char question = 0;
    if (write(client.get(), "hello", 5) != 5) _exit(1);  // unasked
    if (read(client.get(), &question, 1) != 1) _exit(1);
    for (const char* const words : {"answer", "news"}) {
      usleep(answers_after);
      if (write(client.get(), words, strlen(words)) < 0) _exit(1);
    }
    if (read(client.get(), &question, 1) != 0) _exit(1);  // until the client has gone
  });
  Child client([&](Child&) {
    const Fd connection = listener.connect_once();
    std::array<char, 16> words{};
    if (read(connection.get(), words.data(), words.size()) <= 0) _exit(1);
    if (write(connection.get(), "?", 1) != 1) _exit(1);
    for (int i = 0; i < 2; ++i) {
      if (read(connection.get(), words.data(), 6) <= 0) _exit(1);
    }
  });
  measure(only(static_cast<std::uint32_t>(client.pid())));  // the server is no part of the target
  want(SPAN_UNIX_ANSWER, 1);
  arm();
  server.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_UNIX_ANSWER);
  ASSERT_EQ(answers.size(), 1u) << "neither unasked data nor news are answers";
  EXPECT_EQ(answers[0].text(), listener.name());
  EXPECT_EQ(answers[0].record.begin_tid, client.pid());
  EXPECT_EQ(answers[0].record.header.tid, server.pid()) << "the thread that answered";
  EXPECT_GE(answers[0].record.latency_ns, answers_after_ns);
  EXPECT_FALSE(answers[0].is(SPAN_FOR_CLIENT));
}

TEST_F(UnixAnswers, EndWhenTheServerSendsNotWhenTheClientLooks) {
  const UnixListener listener("late reader");
  ASSERT_TRUE(listener.usable());
  Child server([&](Child&) { answer_questions(listener.accept_once()); });
  Child client([&](Child&) {
    const Fd connection = listener.connect_once();
    char word = '?';
    if (write(connection.get(), &word, 1) != 1) _exit(1);
    usleep(10 * answers_after);
    if (read(connection.get(), &word, 1) != 1) _exit(1);
  });
  measure(only(static_cast<std::uint32_t>(client.pid())));
  want(SPAN_UNIX_ANSWER, 1);
  arm();
  server.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_UNIX_ANSWER);
  ASSERT_EQ(answers.size(), 1u);
  EXPECT_GE(answers[0].record.latency_ns, answers_after_ns);
  EXPECT_LT(answers[0].record.latency_ns, 10 * answers_after_ns)
      << "as long as the client slept before it looked";
}

TEST_F(UnixAnswers, AreForAClientThatWaitsMeanwhile) {
  const UnixListener front("front"), back("back");
  ASSERT_TRUE(front.usable() && back.usable());
  Child server([&](Child&) { answer_questions(back.accept_once()); });
  Child proxy([&](Child&) {
    const Fd upstream = back.connect_once();
    const Fd client = front.accept_once();
    char word = 0;
    ask(upstream);
    if (read(client.get(), &word, 1) != 1) _exit(1);
    ask(upstream);
    if (write(client.get(), &word, 1) != 1) _exit(1);
    ask(upstream);
  });
  Child client([&](Child&) { ask(front.connect_once()); });
  measure(only(static_cast<std::uint32_t>(proxy.pid())));
  want(SPAN_UNIX_ANSWER, 1);
  arm();
  server.go();
  proxy.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(proxy.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_UNIX_ANSWER);
  ASSERT_EQ(answers.size(), 3u) << "the proxy's own answer is none to it";
  EXPECT_FALSE(answers[0].is(SPAN_FOR_CLIENT)) << "the proxy has not taken the request yet";
  EXPECT_TRUE(answers[1].is(SPAN_FOR_CLIENT));
  EXPECT_FALSE(answers[2].is(SPAN_FOR_CLIENT)) << "the client has its answer";
}

TEST_F(UnixAnswers, HaveTheBeginOfALongName) {
  const UnixListener listener(std::string(60, 'x'));
  ASSERT_TRUE(listener.usable());
  Child server([&](Child&) { answer_questions(listener.accept_once()); });
  Child client([&](Child&) { ask(listener.connect_once()); });
  measure(only(static_cast<std::uint32_t>(client.pid())));
  want(SPAN_UNIX_ANSWER, 1);
  arm();
  server.go();
  client.go();
  EXPECT_EQ(client.end(), 0);
  EXPECT_EQ(server.end(), 0);
  finish();
  const auto answers = of(SPAN_UNIX_ANSWER);
  ASSERT_EQ(answers.size(), 1u);
  constexpr std::size_t kept = 48;
  EXPECT_EQ(answers[0].text(), listener.name().substr(0, strlen("unix ") + kept) + "…");
}

}  // namespace
}  // namespace overdue

#include "report/why/answers.h"

#include <gtest/gtest.h>

namespace overdue::answers_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// A thread that waited for input from the socket 5.
Finding receives() {
  Finding finding;
  finding.span = "syscall";
  finding.name = "recvfrom";
  finding.arguments = {"fd=5", "len=100"};
  finding.thread = {.pid = 10, .tid = 10, .comm = "app"};
  finding.latency_ns = 70 * ms;
  finding.purpose = {"unknown", "", 70 * ms};
  Wait wait{.ns = 70 * ms, .state = "sleeping"};
  wait.kernel_stack = {{.name = "sk_wait_data", .module = "[kernel]", .is_kernel = true}};
  finding.waits.push_back(wait);
  finding.places.push_back({.state = "sleeping", .ns = wait.ns, .count = 1});
  return finding;
}

ChainLink other_side(std::string what, const char* function) {
  ChainLink link;
  link.thread = {.pid = 20, .tid = 20, .comm = "server"};
  link.what = std::move(what);
  link.is_thread = true;
  link.kernel_stack = {{.name = function, .module = "[kernel]", .is_kernel = true}};
  return link;
}

LatencyTable calls(std::initializer_list<const char*> names) {
  LatencyTable table;
  for (const char* name : names) {
    LatencyRow row;
    row.name = name;
    row.process = ProcessKey{10, "app"};
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::size_t late(const Finding& finding, const LatencyTable& calls,
                 const std::set<ProcessSocket>& opened) {
  Answers answers;
  answers.add(finding);
  return answers.late(calls, opened).size();
}

TEST(Answers, AreWaitedForByTheProcessThatOpenedTheConnection) {
  EXPECT_EQ(late(receives(), {}, {{10, 5}}), 1u);
  EXPECT_EQ(late(receives(), {}, {{10, 6}}), 0u) << "another socket";
  EXPECT_EQ(late(receives(), calls({"connect", "recvfrom"}), {}), 1u) << "closed by now";
  EXPECT_EQ(late(receives(), calls({"accept4", "connect"}), {}), 0u) << "may be a client's socket";
  Answers answers;
  answers.add(receives());
  EXPECT_EQ(answers.sockets().size(), 1u);
  EXPECT_EQ(answers.late({}, {{10, 5}})[0].late_ns(), 70 * ms);
}

TEST(Answers, AreNoWorkThatComesOverTheConnection) {
  Finding finding = receives();
  finding.chain = {other_side("waited", "do_epoll_wait")};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 0u) << "the server had nothing to do either";
  finding.chain = {other_side("waited", "hrtimer_nanosleep")};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 1u) << "the server slept before it answered";
  finding.chain = {other_side("waited", "do_epoll_wait"),
                   other_side("waited", "hrtimer_nanosleep")};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 0u) << "another client sleeps between its requests";
  ChainLink network;
  network.what = "softirq NET_RX";
  finding.chain = {other_side("waited", "sk_wait_data"), network};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 1u) << "the server waited for the network";
  finding.chain = {other_side("waited", "do_epoll_wait"), other_side("ran", "do_syscall_64")};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 1u);
}

TEST(Answers, MayBeMeantByAClientThatHasJustAsked) {
  Finding finding = receives();
  finding.object = CallObject{.kind = "socket", .text = "tcp a->b"};
  EXPECT_FALSE(Answers::has_just_asked(finding)) << "when it sent something is not known";
  finding.object->written_ns = finding.latency_ns + 2 * ms;
  EXPECT_TRUE(Answers::has_just_asked(finding));
  finding.object->written_ns = finding.latency_ns - 3 * ms;
  EXPECT_TRUE(Answers::has_just_asked(finding)) << "the kernel keeps the time in ticks";
  finding.object->written_ns = finding.latency_ns + 60 * ms;
  EXPECT_FALSE(Answers::has_just_asked(finding)) << "it has subscribed to news some time ago";
}

TEST(Answers, ToAPollOfOneDescriptorAreThoseOfAClient) {
  Finding finding = receives();
  finding.name = "poll";
  finding.arguments = {"fds=0x1", "nfds=1", "timeout=500"};
  for (const char* const by : {"one descriptor", "timed out"}) {
    finding.purpose = {"unknown", by, 0};
    EXPECT_TRUE(Answers::decide(finding));
    EXPECT_EQ(late(finding, calls({"poll"}), {}), 0u) << "a loop of its own";
    EXPECT_EQ(late(finding, calls({"connect", "poll"}), {}), 1u);
    EXPECT_EQ(late(finding, {}, {{10, ProcessSocket::any}}), 1u);
  }
  finding.arguments[1] = "nfds=2";
  EXPECT_EQ(late(finding, {}, {{10, ProcessSocket::any}}), 0u) << "the timer of an event loop";
}

TEST(Answers, ToAnEventLoopAreThoseOfAProgramThatConnects) {
  Finding finding = receives();
  finding.name = "epoll_wait";
  finding.arguments = {"epfd=3", "maxevents=16", "timeout=-1"};
  finding.purpose = {"work", "uv_run", 70 * ms};
  finding.result = 1;
  const auto late_in = [&](Answers answers, const LatencyTable& calls) {
    answers.add(finding);
    EXPECT_TRUE(answers.sockets().empty());
    return answers.late(calls, {}).size();
  };
  EXPECT_EQ(late_in(Answers(true), calls({"connect"})), 1u);
  EXPECT_EQ(late_in(Answers(true), calls({"connect", "accept4"})), 0u);
  EXPECT_EQ(late_in(Answers(false), calls({"connect"})), 0u) << "a service";
  finding.result = 0;
  EXPECT_EQ(late_in(Answers(true), calls({"connect"})), 0u) << "a timer";
}

Finding answer_at(KernelTime time) {
  Finding answer;
  answer.span = "tcp_answer";
  answer.name = "10.0.0.1:80";
  answer.title = "answer of 10.0.0.1:80";
  answer.thread = {.pid = 10, .tid = 10, .comm = "app"};
  answer.latency_ns = 70 * ms;
  answer.time = time;
  return answer;
}

Finding for_client(KernelTime time) {
  Finding answer = answer_at(time);
  answer.purpose = {.of = "answer", .by = "a client of the process waited"};
  return answer;
}

constexpr KernelTime some_time(std::chrono::seconds(10));

TEST(Answers, ToAnEventLoopAreLateIfAClientWaitedMeanwhile) {
  EXPECT_TRUE(Answers::decide(answer_at(some_time)));
  EXPECT_EQ(late(for_client(some_time), {}, {}), 1u);
  EXPECT_EQ(late(answer_at(some_time), {}, {}), 0u) << "it may have been held back";
  Answers answers;
  answers.add(for_client(some_time));
  EXPECT_EQ(answers.awaited_ends().size(), 1u);
}

TEST(Answers, ToAnEventLoopAreLateIfTheOtherEndWasBusy) {
  Finding loop = receives();
  loop.name = "epoll_wait";
  loop.arguments = {"epfd=3", "maxevents=16", "timeout=-1"};
  loop.purpose = {"work", "uv_run", 70 * ms};
  loop.result = 1;
  loop.time = some_time;
  const auto late_after = [&](const Finding& wait, const Finding& answer) {
    Answers answers;
    answers.add(wait);
    answers.add(answer);
    return answers.late({}, {});
  };
  const Finding answer = answer_at(some_time + std::chrono::microseconds(50));
  loop.chain = {other_side("waited", "hrtimer_nanosleep")};
  ASSERT_EQ(late_after(loop, answer).size(), 1u) << "the server slept before it answered";
  EXPECT_EQ(late_after(loop, answer)[0].chain.size(), 1u);
  EXPECT_EQ(late_after(loop, answer_at(some_time + std::chrono::seconds(1))).size(), 0u)
      << "it came with another event";
  loop.chain = {other_side("waited", "do_epoll_wait")};
  EXPECT_EQ(late_after(loop, answer).size(), 0u) << "the server had nothing to do either";
  loop.chain = {other_side("waited", "futex_wait_queue")};
  EXPECT_EQ(late_after(loop, answer).size(), 0u) << "a queue of messages";
  loop.chain.front().kernel_stack.clear();
  EXPECT_EQ(late_after(loop, answer).size(), 0u) << "what it waited for is not known";
  loop.chain = {other_side("ran", "do_syscall_64")};
  EXPECT_EQ(late_after(loop, answer).size(), 1u);
  loop.result = 2;
  EXPECT_EQ(late_after(loop, answer).size(), 0u) << "one of several events";
  loop.result = 1;
  loop.chain.front().thread.pid = 10;
  EXPECT_EQ(late_after(loop, answer).size(), 0u) << "a thread of its own";
}

TEST(Answers, OverAUnixSocketAreWaitedForByAClientThatHasAsked) {
  Finding wait = receives();
  wait.purpose = {"answer", "a client's socket", 0};
  wait.object = CallObject{.kind = "unix", .text = "unix /run/app/socket", .side = "client"};
  const auto late_with = [&](Answers answers) {
    EXPECT_TRUE(Answers::decide(wait));
    answers.add(wait);
    return answers.late({}, {}).size();
  };
  EXPECT_EQ(late_with(Answers(false, false)), 1u) << "nothing is known of questions";
  EXPECT_EQ(late_with(Answers(false, true)), 0u) << "news";
  for (const char* const name : {"unix /run/app/socket", "unix /run/a…"}) {
    Answers answers(false, true);
    answers.note_question(10, name);
    EXPECT_EQ(late_with(answers.next()), 1u) << name;
  }
  Answers others(false, true);
  others.note_question(11, "unix /run/app/socket");
  others.note_question(10, "unix /run/other");
  EXPECT_EQ(late_with(others), 0u);
  wait.chain = {other_side("waited", "do_epoll_wait")};
  EXPECT_EQ(late_with(Answers(false, false)), 0u) << "the server had nothing to do either";
  wait.type = "hang";
  EXPECT_TRUE(Answers::decide(wait));
  wait.chain.clear();
  EXPECT_FALSE(Answers::decide(wait)) << "a question that is not answered has no span";
}

TEST(Answers, OverAUnixSocketAreAsThoseOverTcp) {
  Finding answer = for_client(some_time);
  answer.span = "unix_answer";
  answer.name = "unix /run/app/socket";
  EXPECT_TRUE(Answers::decide(answer));
  EXPECT_EQ(late(answer, {}, {}), 1u);
  answer.purpose = {};
  EXPECT_EQ(late(answer, {}, {}), 0u) << "it may have been held back";
  answer = for_client(some_time);
  answer.span = "unix_answer";
  for (const char* const name : {"unix /run/app/socket", "unix /run/a…"}) {
    answer.name = name;
    Answers answers;
    Finding wait = receives();
    wait.object = CallObject{.kind = "unix", .text = "unix /run/app/socket", .side = "client"};
    answers.add(answer);
    EXPECT_EQ(answers.late({}, {}).size(), 1u);
    answers.note_peer(wait);
    EXPECT_EQ(answers.late({}, {}).size(), 0u) << "a call waited for " << name;
  }
}

TEST(Answers, AreLateIfTheQuestionHadToBeSentAgain) {
  Finding answer = answer_at(some_time);
  EXPECT_EQ(late(answer, {}, {}), 0u) << "it may have been held back";
  answer.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80", .resends = 1};
  answer.object->resent_ns = answer.latency_ns / 4;
  EXPECT_EQ(late(answer, {}, {}), 0u);
  answer.object->resent_ns = answer.latency_ns / 2;
  EXPECT_EQ(late(answer, {}, {}), 1u);
}

TEST(Answers, AreNoNewsIfTheQuestionHadToBeSentAgain) {
  Finding wait = receives();
  wait.purpose = {"answer", "a client's socket", 0};
  wait.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80", .side = "client"};
  wait.chain = {other_side("waited", "do_epoll_wait")};
  EXPECT_TRUE(Answers::decide(wait));
  EXPECT_TRUE(Answers::is_for_news(wait));
  wait.object->resends = 1;
  wait.object->resent_ns = wait.latency_ns;
  EXPECT_FALSE(Answers::decide(wait))
      << "the other side had nothing to do, for lack of the question";
  EXPECT_FALSE(Answers::is_for_news(wait));
}

TEST(Answers, WaitedForInACallAreNoCausesOfTheirOwn) {
  Finding wait = receives();
  wait.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80", .side = "client"};
  Answers answers;
  answers.add(for_client(some_time));
  EXPECT_EQ(answers.late({}, {}).size(), 1u);
  answers.note_peer(wait);
  EXPECT_EQ(answers.late({}, {}).size(), 0u);
}

TEST(Answers, AreNotBlamedForAWaitWithoutARecord) {
  Finding finding = receives();
  finding.waits.clear();
  finding.places.clear();
  finding.breakdown = Breakdown{{ShareKind::sleeping, 70 * ms}};
  finding.purpose = {};
  EXPECT_TRUE(Answers::decide(finding));
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 0u) << "the other side may have been idle";
}

TEST(Answers, AreNotWaitedForInAFutexOfWhichNothingIsKnown) {
  Finding finding = receives();
  finding.name = "futex";
  finding.waits.clear();
  finding.places.clear();
  finding.breakdown = Breakdown{{ShareKind::sleeping, 70 * ms}};
  EXPECT_TRUE(Answers::decide(finding));
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 0u);
  StackFrame lock;
  lock.name = "pthread_mutex_lock";
  lock.module = "/lib/libc.so.6";
  finding.user_stack = Stack(1, lock);
  EXPECT_FALSE(Answers::decide(finding)) << "a lock";
}

TEST(Answers, AreLateIfBothSidesWaitForAPacket) {
  Finding finding = receives();
  finding.purpose = {"answer", "a client's socket", 69 * ms};
  EXPECT_EQ(late(finding, {}, {}), 0u) << "it had not asked yet";
  ChainLink network;
  network.what = "softirq NET_RX";
  finding.chain = {other_side("waited", "sk_wait_data"), network};
  EXPECT_FALSE(Answers::decide(finding));
  EXPECT_EQ(late(finding, {}, {}), 1u);
}

TEST(Answers, OfAKnownLoopAreWork) {
  Finding finding = receives();
  finding.purpose = {"work", "secure_read", 70 * ms};
  EXPECT_EQ(late(finding, {}, {{10, 5}}), 0u);
}

TEST(OpenedSockets, SurviveARecording) {
  SessionInfo info;
  keep_opened_sockets({{10, 5}, {11, 6}}, info);
  EXPECT_EQ(kept_opened_sockets(info).size(), 2u);
  EXPECT_TRUE(kept_opened_sockets(info).contains({11, 6}));
  info.options["opened_sockets"] = "99999999999";
  EXPECT_LE(kept_opened_sockets(info).size(), 1000u);
}

}  // namespace
}  // namespace overdue::answers_test

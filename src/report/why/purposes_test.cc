#include "report/why/purposes.h"

#include <gtest/gtest.h>

#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "report/why/groups.h"

namespace overdue::purposes_test {
namespace {

using Use = Purposes::Use;

constexpr std::uint64_t ms = 1'000'000;
constexpr KernelTime end{Duration(10'000 * ms)};

/// A thread that was blocked for 1 s, 400 ms of it in poll() and as long in recv().
OffcpuRow thread_of(std::uint32_t tid, const std::string& name = "server") {
  OffcpuRow row;
  row.pid = row.tid = tid;
  row.comm = row.process = name;
  row.threads = row.processes = 1;
  row.wall_ns = row.sleeping_ns = 1'000 * ms;
  row.reason_ns[REASON_EVENTS] = row.reason_ns[REASON_INPUT] = 400 * ms;
  row.reason_ns[REASON_FUTEX] = row.reason_ns[REASON_OTHER] = 100 * ms;
  return row;
}

Finding call_of(std::string_view name, std::uint64_t latency_ns, WaitPurpose purpose = {}) {
  Finding finding;
  finding.span = "syscall";
  finding.name = name;
  finding.thread = {10, 10, "server"};
  finding.time = end - Duration(100 * ms);
  finding.latency_ns = latency_ns;
  finding.breakdown = Breakdown{{ShareKind::sleeping, latency_ns}};
  finding.purpose = std::move(purpose);
  return finding;
}

Finding idle(std::string_view name, std::uint64_t latency_ns, std::string_view of = "work") {
  return call_of(name, latency_ns, {of, "aeMain", latency_ns});
}

Finding answer_over(std::string_view kind, std::uint64_t latency_ns) {
  Finding finding = call_of("recvfrom", latency_ns, {"answer", "a client's socket", 0});
  finding.object = CallObject{.kind = kind};
  return finding;
}

Finding answer_to_loop(std::uint64_t until_ns, std::uint64_t latency_ns) {
  Finding finding = call_of("127.0.0.1:80", latency_ns);
  finding.span = "tcp_answer";
  finding.time = KernelTime(Duration(until_ns));
  return finding;
}

WhyRow row_of(const Purposes& purposes, std::vector<OffcpuRow> threads = {thread_of(10)},
              const std::vector<Finding>& answers = {}) {
  std::vector<WhyRow> rows = groups_of(threads);
  std::vector<Purposes::Part> parts = purposes.parts(WhySampling(), threads, end);
  for (const Purposes::Part& part : parts_of_answers(answers, threads)) parts.push_back(part);
  find_purposes(rows, Whose::group, threads, parts);
  const WhyRow& row = rows.front();
  const std::uint64_t reasons_ns =
      std::accumulate(row.reason_ns.begin(), row.reason_ns.end(), std::uint64_t{0});
  EXPECT_EQ(reasons_ns + row.network_ns + row.work_ns, row.blocked_ns());
  return row;
}

WhyRow row_with(const std::vector<Finding>& findings) {
  Purposes purposes;
  for (const Finding& finding : findings) purposes.add(finding, {});
  return row_of(purposes);
}

TEST(Purposes, MoveIdleWaitsFromTheirReasonToWork) {
  const WhyRow row = row_with({idle("epoll_wait", 300 * ms), idle("futex", 60 * ms)});
  EXPECT_EQ(row.work_ns, 360 * ms);
  EXPECT_EQ(row.reason_ns[REASON_EVENTS], 100 * ms);
  EXPECT_EQ(row.reason_ns[REASON_FUTEX], 40 * ms);
  EXPECT_EQ(row.network_ns, 0u);
}

TEST(Purposes, TakeAHabitOfAPoolForWaitsForWork) {
  EXPECT_EQ(row_with({call_of("futex", 80 * ms, {"unknown", "habit", 80 * ms})}).work_ns, 80 * ms);
}

TEST(Purposes, MoveTimeThatWasAskedForToSleep) {
  const WhyRow row = row_with({idle("poll", 200 * ms, "time"), idle("nanosleep", 50 * ms, "time")});
  EXPECT_EQ(row.reason_ns[REASON_SLEEP], 200 * ms);
  EXPECT_EQ(row.reason_ns[REASON_EVENTS], 200 * ms);
  EXPECT_EQ(row.work_ns, 0u);
}

TEST(Purposes, MoveLateInputOfSocketsToTheNetwork) {
  for (const char* kind : {"socket", "unix"}) {
    const WhyRow row = row_with({answer_over(kind, 90 * ms)});
    EXPECT_EQ(row.network_ns, 90 * ms);
    EXPECT_EQ(row.reason_ns[REASON_INPUT], 310 * ms);
  }
  EXPECT_EQ(row_with({answer_over("pipe", 90 * ms)}).network_ns, 0u);
}

TEST(Purposes, TakeALateWaitForEventsForOneOfSocketsIfASocketEndedIt) {
  Finding poll = call_of("poll", 90 * ms);
  poll.waits = {
      {.ns = 90 * ms, .state = "sleeping", .waker = Waker{.stack = {{.name = "ep_poll"}}}}};
  poll.places = {{.state = "sleeping", .ns = 90 * ms, .count = 1, .blocked_ns = 90 * ms}};
  EXPECT_EQ(row_with({poll}).network_ns, 0u);
  poll.waits[0].waker->stack = {{.name = "ep_poll_callback"}, {.name = "sock_def_readable"}};
  EXPECT_EQ(row_with({poll}).network_ns, 90 * ms);
}

TEST(Purposes, LeaveTheReasonWhereThePurposeIsUnknown) {
  const WhyRow row = row_with({call_of("epoll_wait", 200 * ms, {"unknown", "", 200 * ms}),
                               call_of("futex", 50 * ms, {"answer", "pthread_mutex_lock", 0})});
  EXPECT_EQ(row.reason_ns, thread_of(10).reason_ns);
}

TEST(Purposes, CallWaitsForLocksOfTheKernelALock) {
  Finding write = call_of("write", 70 * ms);
  write.breakdown = Breakdown{{ShareKind::uninterruptible, 70 * ms}};
  write.waits = {{.ns = 70 * ms,
                  .state = "uninterruptible",
                  .kernel_stack = {{.name = "ext4_buffered_write_iter"}, {.name = "vfs_write"}}}};
  write.places = {{.state = "uninterruptible", .ns = 70 * ms, .count = 2, .blocked_ns = 65 * ms}};
  const WhyRow row = row_with({write});
  EXPECT_EQ(row.reason_ns[REASON_LOCK], 65 * ms);
  EXPECT_EQ(row.reason_ns[REASON_OTHER], 35 * ms);
}

TEST(Purposes, MoveNoMoreThanTheSumOfTheReason) {
  const WhyRow row = row_with({idle("epoll_wait", 900 * ms), idle("poll", 900 * ms, "time")});
  EXPECT_EQ(row.reason_ns[REASON_EVENTS], 0u);
  EXPECT_EQ(row.work_ns, 200 * ms);
  EXPECT_EQ(row.reason_ns[REASON_SLEEP], 200 * ms);
}

TEST(Purposes, CountACallThatIsStillOpenForItsWholeWait) {
  Finding open = idle("epoll_wait", 1'000 * ms);
  open.type = "hang";
  open.breakdown.reset();
  OffcpuRow thread = thread_of(10);
  thread.open_ns = 350 * ms;
  Purposes purposes;
  purposes.add(open, {});
  EXPECT_EQ(row_of(purposes, {thread}).work_ns, 350 * ms);
  thread.open_ns = 50 * ms;  // the call has ended since: the wait is another one
  EXPECT_EQ(row_of(purposes, {thread}).work_ns, 0u);
  thread.open_ns = 350 * ms;
  purposes.end_call(10);
  EXPECT_EQ(row_of(purposes, {thread}).work_ns, 0u);
}

TEST(Purposes, LetAnEventLoopWaitForTheNetworkWhileAnAnswerIsLate) {
  Purposes purposes;
  purposes.add(idle("epoll_wait", 400 * ms), {});
  // Of 200 ms, in which two answers overlap, the loop waited for two fifths, as always.
  const WhyRow row =
      row_of(purposes, {thread_of(10)},
             {answer_to_loop(9'100 * ms, 100 * ms), answer_to_loop(9'200 * ms, 150 * ms)});
  EXPECT_EQ(row.network_ns, 80 * ms);
  EXPECT_EQ(row.work_ns, 320 * ms);
}

}  // namespace
}  // namespace overdue::purposes_test

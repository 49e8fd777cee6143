#include <string>

#include <gtest/gtest.h>

#include "report/why/figures.h"
#include "report/why/figures_fixture.h"

namespace overdue::figures_test {
namespace {

/// A wait on a futex, of `ms_long` ms.
Finding futex_wait(std::uint64_t ms_long) {
  Finding finding;
  finding.span = "syscall";
  finding.name = "futex";
  finding.thread = {.pid = 10, .tid = 11, .comm = "client-1"};
  finding.latency_ns = ms_long * ms;
  finding.breakdown = Breakdown{{ShareKind::sleeping, ms_long * ms}};
  finding.waits = {{.ns = ms_long * ms, .state = "sleeping"}};
  return finding;
}

TEST(WhyFigures, WaitsThatMayBeForWorkAreNoCausesButAreShown) {
  Session session;
  session.threads.push_back(thread_of(10, 11, "client-1"));
  session.threads[0].sleeping_ns = 1000 * ms;
  session.undecided.add(futex_wait(300), {});
  session.undecided.add(futex_wait(200), {});
  const WhyFigures all = session.figures();
  EXPECT_TRUE(all.causes.empty());
  ASSERT_EQ(all.undecided.size(), 1u);
  EXPECT_EQ(all.undecided[0].total_ns, 500 * ms);
  EXPECT_EQ(all.undecided[0].count, 2u);
  EXPECT_TRUE(all.verdict.starts_with("Nothing is known to be late")) << all.verdict;
  EXPECT_TRUE(all.verdict.find("waited for 500ms, perhaps for work: futex") != std::string::npos)
      << all.verdict;
}

/// A wait of 300 ms for asynchronous I/O, which a disk ends.
Finding io_wait() {
  Finding finding = futex_wait(300);
  finding.name = "io_getevents";
  finding.thread = {.pid = 10, .tid = 10, .comm = "writer"};
  ChainLink disk;
  disk.what = "softirq BLOCK";
  disk.means = "disk completion";
  disk.disk = "vda";
  finding.waits[0].waker = Waker{.means = "disk completion", .disk = "vda"};
  finding.chain = {disk};
  finding.places = {{.state = "sleeping", .ns = 300 * ms, .count = 1, .blocked_ns = 300 * ms}};
  return finding;
}

TEST(WhyFigures, OneThreadWaitsForItsOwnAsynchronousIo) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "writer"));
  session.threads[0].reason_ns[REASON_EVENTS] = 700 * ms;
  session.undecided.add(io_wait(), {});
  const WhyFigures alone = session.figures();
  ASSERT_EQ(alone.causes.size(), 1u) << alone.verdict;
  EXPECT_TRUE(alone.causes[0].cause.starts_with("disk vda: io_getevents")) << alone.causes[0].cause;
  EXPECT_EQ(alone.causes[0].total_ns, 700 * ms) << "short waits, too";
  EXPECT_TRUE(alone.undecided.empty());

  session.call("epoll_wait", 10, 1'000);
  EXPECT_EQ(session.figures().causes[0].total_ns, 300 * ms) << "other waits may be for work";

  session.threads.push_back(thread_of(10, 11, "asker"));
  const WhyFigures several = session.figures();
  EXPECT_TRUE(several.causes.empty()) << "the other thread may have asked for the I/O";
  EXPECT_EQ(several.undecided.size(), 1u);
}

}  // namespace
}  // namespace overdue::figures_test

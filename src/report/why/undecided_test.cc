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
  finding.breakdown = Breakdown{.sleeping_ns = ms_long * ms};
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
  EXPECT_TRUE(all.verdict.starts_with("Nothing was late")) << all.verdict;
  EXPECT_TRUE(all.verdict.find("waited for 500ms, perhaps for work: futex") != std::string::npos)
      << all.verdict;
}

}  // namespace
}  // namespace overdue::figures_test

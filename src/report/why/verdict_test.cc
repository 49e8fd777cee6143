#include "report/why/verdict.h"

#include <string>

#include <gtest/gtest.h>

#include "report/why/figures_fixture.h"

namespace overdue::figures_test {
namespace {

/// A thread that waited for another one for so long in all.
Session session_of(std::uint64_t futex_ns) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].reason_ns[REASON_FUTEX] = futex_ns;
  return session;
}

/// A futex call that waited for 5 ms below this function.
Finding futex_in(const char* function) {
  Finding finding;
  finding.span = "syscall";
  finding.name = "futex";
  finding.thread = {.pid = 10, .tid = 10, .comm = "app"};
  finding.latency_ns = 5 * ms;
  finding.threshold_ns = ms;
  finding.breakdown = Breakdown{{ShareKind::sleeping, 5 * ms}};
  finding.user_stack = Stack{{.name = function, .module = "/lib/libc.so.6"}};
  finding.waits.push_back({.ns = 5 * ms, .state = "sleeping"});
  return finding;
}

TEST(Verdict, SaysHowLongTheLongestWaitForALockWas) {
  Session session = session_of(100 * ms);
  session.blame.add(futex_in("pthread_mutex_lock"), {});
  const std::string verdict = session.figures().verdict;
  EXPECT_EQ(
      verdict,
      "Nothing was late: the longest delay took 5.00ms; longest wait for a lock 5.00ms; waits "
      "for a CPU 0ns in all, for disks 0ns.");
}

TEST(Verdict, TakesNoWaitForWorkForALock) {
  Session session = session_of(100 * ms);
  session.blame.add(futex_in("wait_for_work"), {});
  EXPECT_NE(session.figures().verdict.find("; longest wait for a lock less than 1.00ms;"),
            std::string::npos)
      << session.figures().verdict;
}

TEST(Verdict, SaysThatNoThreadWaitedForALock) {
  const std::string verdict = session_of(0).figures().verdict;
  EXPECT_NE(verdict.find("; no wait for a lock;"), std::string::npos) << verdict;
}

}  // namespace
}  // namespace overdue::figures_test

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "analysis/explain.h"

namespace overdue {
namespace {

/// A sleep of `ns` in `function`, within a call of 1000 ns.
Wait sleep_in(std::string function, u64 ns, u64 runqueue_ns = 0) {
  return {
      .ns = ns + runqueue_ns,
      .runqueue_ns = runqueue_ns,
      .state = "sleeping",
      .kernel_stack = {{.name = "schedule"}, {.name = std::move(function)}, {.name = "vfs_read"}}};
}

Finding finding_with(std::vector<Wait> waits) {
  Finding finding;
  finding.span = "syscall";
  finding.name = "read";
  finding.thread.comm = "worker-12";
  finding.latency_ns = 1000;
  finding.waits = std::move(waits);
  for (std::size_t i = 0; i < finding.waits.size(); ++i) {
    const Wait& wait = finding.waits[i];
    finding.places.push_back({.state = wait.state,
                              .ns = wait.ns,
                              .count = 1,
                              .kernel_stack = wait.kernel_stack,
                              .blocked_ns = wait.blocked_ns(),
                              .longest_ns = wait.ns,
                              .longest = i});
  }
  std::sort(finding.places.begin(), finding.places.end(),
            [](const auto& one, const auto& other) { return one.blocked_ns > other.blocked_ns; });
  return finding;
}

TEST(CauseOf, IsEqualWhateverTheThreadsNumberAndTheOtherWaits) {
  Finding one = finding_with({sleep_in("futex_wait", 900)});
  Finding other = finding_with({sleep_in("pipe_read", 20), sleep_in("futex_wait", 700)});
  other.thread.comm = "worker-3";
  other.number = 99;
  EXPECT_EQ(cause_of(one), cause_of(other));
  EXPECT_EQ(cause_of(finding_with({})), cause_of(finding_with({})));
}

TEST(CauseOf, DiffersByPlaceCallWakerAndThread) {
  const Finding base = finding_with({sleep_in("futex_wait", 900)});
  Finding other = finding_with({sleep_in("pipe_read", 900)});
  EXPECT_NE(cause_of(base), cause_of(other));
  other = base;
  other.name = "write";
  EXPECT_NE(cause_of(base), cause_of(other));
  other = base;
  other.thread.comm = "writer-12";
  EXPECT_NE(cause_of(base), cause_of(other));
  other = base;
  other.waits[0].waker =
      Waker{.thread = {}, .context = "softirq BLOCK", .is_thread = false, .stack = {}};
  EXPECT_NE(cause_of(base), cause_of(other));
}

ChainLink thread_that(std::string what, ThreadName thread) {
  ChainLink link;
  link.thread = std::move(thread);
  link.what = std::move(what);
  link.is_thread = true;
  return link;
}

TEST(CauseOf, DiffersByTheRootOfTheChain) {
  Finding lock = finding_with({sleep_in("futex_wait", 900)});
  lock.chain = {thread_that("waited", {1, 2, "pool-1"}), thread_that("ran", {1, 3, "feeder-3"})};
  Finding other = lock;
  other.chain.back().thread = {1, 4, "feeder-4"};
  other.chain.front().ns = 7;
  EXPECT_EQ(cause_of(lock), cause_of(other));
  other.chain.back().thread.comm = "relay-4";
  EXPECT_NE(cause_of(lock), cause_of(other));
  other = lock;
  other.chain.back().what = "preempted";
  EXPECT_NE(cause_of(lock), cause_of(other));
  other.chain.back() = ChainLink();
  other.chain.back().means = "disk completion";
  EXPECT_NE(cause_of(lock), cause_of(other));
}

TEST(CauseOf, DiffersByTheFunctionsOfTheProgram) {
  const auto called_by = [](std::vector<const char*> functions) {
    Finding finding = finding_with({sleep_in("futex_wait", 900)});
    finding.user_stack.emplace();
    for (const char* const name : functions)
      finding.user_stack->push_back({.name = name, .module = "/bin/db"});
    finding.user_stack->front().module = "/lib/libc.so.6";
    return cause_of(finding);
  };
  EXPECT_EQ(called_by({"pthread_mutex_lock", "take_row", "serve", "start_thread"}),
            called_by({"__lll_lock_wait", "take_row", "serve", "serve", "clone3"}));
  EXPECT_NE(called_by({"pthread_mutex_lock", "take_row", "serve", "start_thread"}),
            called_by({"pthread_mutex_lock", "begin_thread", "start_thread"}));
}

TEST(CauseOf, DiffersByTheLargestPart) {
  Finding one = finding_with({sleep_in("futex_wait", 900)});
  one.breakdown = Breakdown{{ShareKind::runqueue, 100}, {ShareKind::sleeping, 900}};
  Finding other = one;
  other.breakdown = Breakdown{{ShareKind::runqueue, 200}, {ShareKind::sleeping, 800}};
  EXPECT_EQ(cause_of(one), cause_of(other));
  other.breakdown = Breakdown{{ShareKind::runqueue, 600}, {ShareKind::sleeping, 400}};
  EXPECT_NE(cause_of(one), cause_of(other));
}

TEST(CauseOf, DoesNotDependOnWhichThreadWoke) {
  Finding one = finding_with({sleep_in("futex_wait", 900)});
  Finding other = one;
  one.waits[0].waker =
      Waker{.thread = {1, 1, "a"}, .context = "thread", .is_thread = true, .stack = {}};
  other.waits[0].waker =
      Waker{.thread = {2, 2, "b"}, .context = "thread", .is_thread = true, .stack = {}};
  EXPECT_EQ(cause_of(one), cause_of(other));
}

}  // namespace
}  // namespace overdue

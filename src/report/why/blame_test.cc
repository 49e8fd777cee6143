#include "report/why/blame.h"

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "report/why/root.h"

namespace overdue::blame_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

Stack stack_of(std::initializer_list<const char*> names) {
  Stack stack;
  for (const char* name : names) stack.push_back({.name = name, .module = "/bin/app"});
  return stack;
}

/// A futex call of `ms_late` that one wait takes, below wait_for_lock().
Finding blocked(std::uint32_t tid, std::uint64_t ms_late) {
  Finding finding;
  finding.span = "syscall";
  finding.name = "futex";
  finding.thread = {.pid = 10, .tid = tid, .comm = "waiter-" + std::to_string(tid)};
  finding.latency_ns = ms_late * ms;
  finding.threshold_ns = ms;
  finding.breakdown = Breakdown{{ShareKind::sleeping, ms_late * ms}};
  finding.user_stack = stack_of({"wait_for_lock", "work"});
  Wait wait{.ns = ms_late * ms, .state = "sleeping"};
  wait.kernel_stack = {{.name = "futex_wait", .module = "[kernel]", .is_kernel = true},
                       {.name = "do_syscall_64", .module = "[kernel]", .is_kernel = true}};
  finding.waits.push_back(wait);
  finding.places.push_back({.state = "sleeping", .ns = wait.ns, .count = 1});
  return finding;
}

/// The thread that ended the wait, asleep in `function` meanwhile.
ChainLink asleep(std::uint32_t tid, const char* function, std::uint64_t ns) {
  ChainLink link;
  link.thread = {.pid = 10, .tid = tid, .comm = "holder"};
  link.what = "waited";
  link.ns = ns;
  link.is_thread = true;
  link.user_stack = stack_of({function, "work"});
  return link;
}

ChainLink timeout() {
  ChainLink link;
  link.what = "vector local_timer";
  link.means = "timeout";
  link.is_root = true;
  return link;
}

std::vector<WhyCause> causes_of(BlameTable& table) {
  table.finish(KernelTime{}, {});
  return table.blocked(WhySampling()).causes;
}

TEST(BlameTable, AWaitWithoutARecordTakesNoNameFromACause) {
  BlameTable table;
  for (const std::uint64_t ms_late : {50u, 20u, 60u}) {
    Finding finding = blocked(1, ms_late);
    finding.user_stack = stack_of({"take_gil", "work"});
    if (ms_late == 20) {
      finding.chain = {asleep(9, "hold", 19 * ms), timeout()};
    } else {
      finding.waits.clear();
      finding.places.clear();
    }
    table.add(finding, {});
  }
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_TRUE(causes[0].cause.starts_with("Python's GIL behind holder[9], which slept"))
      << causes[0].cause;
}

TEST(BlameTable, WaitersInARowBehindOneThreadAreOneCause) {
  BlameTable table;
  Finding first = blocked(1, 30);
  first.chain = {asleep(9, "hold", 29 * ms), timeout()};
  Finding second = blocked(2, 31);
  ChainLink between = asleep(1, "wait_for_lock", 30 * ms);
  between.thread.comm = "waiter-1";
  second.chain = {between, asleep(9, "hold", 29 * ms), timeout()};
  table.add(first, {});
  table.add(second, {});
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause,
            "futex in wait_for_lock ← work behind holder[9], which slept in hold ← work");
  EXPECT_EQ(causes[0].count, 2u);
  EXPECT_EQ(causes[0].total_ns, 61 * ms);
  EXPECT_EQ(causes[0].max_ns, 31 * ms);
  ASSERT_TRUE(causes[0].example);
  EXPECT_EQ(causes[0].example->thread.tid, 2u);
}

TEST(BlameTable, DifferentActivitiesOfAThreadAreDifferentCauses) {
  BlameTable table;
  for (const char* function : {"hold", "flush"}) {
    Finding finding = blocked(1, 10);
    finding.chain = {asleep(9, function, 10 * ms), timeout()};
    table.add(finding, {});
  }
  EXPECT_EQ(causes_of(table).size(), 2u);
}

TEST(BlameTable, ARootThatExplainsLittleSaysHowMuch) {
  const auto cause_with = [](std::uint64_t held_ns) {
    BlameTable table;
    Finding finding = blocked(1, 100);
    finding.chain = {asleep(9, "hold", held_ns), timeout()};
    table.add(finding, {});
    return causes_of(table).at(0).cause;
  };
  EXPECT_TRUE(cause_with(20 * ms).ends_with("hold ← work (20 % of the time)"));
  EXPECT_TRUE(cause_with(5 * ms).ends_with("work, ended by holder[9] (unknown: 95 %)"));
}

/// A thread that waited for its turn, had the lock for 10 ms, and passed it on.
ChainLink in_turn(std::uint32_t tid, std::uint64_t during_ms) {
  ChainLink link;
  link.thread = {.pid = 10, .tid = tid, .comm = "order-" + std::to_string(tid)};
  link.what = during_ms > 10 ? "waited" : "ran";
  link.during_ns = during_ms * ms;
  link.ns = during_ms > 10 ? (during_ms - 10) * ms : during_ms * ms;
  link.ledger =
      Breakdown{{ShareKind::oncpu, 10 * ms}, {ShareKind::sleeping, (during_ms - 10) * ms}};
  link.is_thread = true;
  link.waking_stack = stack_of({"book", "work"});
  return link;
}

TEST(BlameTable, ThreadsThatHoldALockInTurnAreOneRoot) {
  BlameTable table;
  for (const std::uint64_t turns : {1u, 3u}) {
    Finding finding = blocked(1, 10 * turns);
    for (std::uint64_t i = 0; i < turns; ++i)
      finding.chain.push_back(in_turn(static_cast<std::uint32_t>(20 + i), 10 * (turns - i)));
    table.add(finding, {});
  }
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause,
            "futex in wait_for_lock ← work behind order-*, which ran in book ← work");
  ASSERT_EQ(causes[0].by.size(), 1u);
  EXPECT_EQ(causes[0].by[0].name, "order-*");
  EXPECT_EQ(causes[0].by[0].ns, 40 * ms);
  EXPECT_EQ(table.blocked(WhySampling()).ran_ns.at("order-*"), 40 * ms);
}

TEST(BlameTable, ThreadsThatRanAreOneRowAndKeepACommonName) {
  BlameTable table;
  Finding finding = blocked(1, 10);
  finding.breakdown = Breakdown{{ShareKind::preempted, 10 * ms}};
  finding.waits = {Wait{.ns = 10 * ms, .state = "preempted"}};
  finding.waits[0].ran.add({0, 30, "cc1plus"}, 4 * ms);
  finding.waits[0].ran.add({0, 31, "cc1plus"}, 3 * ms);
  finding.waits[0].ran.add({0, 32, "worker-1"}, 2 * ms);
  finding.waits[0].ran.add({0, 33, "worker-2"}, 1 * ms);
  table.add(finding, {});
  std::map<std::string, std::uint64_t> ran;
  for (const auto& [key, name] : table.runqueue().weighted(WhySampling()).by)
    ran[name.name] = name.ns;
  EXPECT_EQ(ran, (std::map<std::string, std::uint64_t>{{"cc1plus", 7 * ms}, {"worker-*", 3 * ms}}));
}

TEST(BlameTable, AHolderThatStandsAtASafepointIsTheRootAndNotTheVmThread) {
  BlameTable table;
  ChainLink vm_thread = asleep(30, "os::naked_short_sleep", 30 * ms);
  vm_thread.thread.comm = "VM Thread";
  vm_thread.waking_stack = stack_of({"SafepointSynchronize::end", "VMThread::loop"});
  Finding finding = blocked(1, 50);
  finding.chain = {in_turn(20, 50), vm_thread, timeout()};
  table.add(finding, {});
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause, "futex in wait_for_lock ← work behind order-20[20], which " +
                                 std::string(kept_at_safepoint));
  ASSERT_EQ(causes[0].by.size(), 1u);
  EXPECT_EQ(causes[0].by[0].name, "order-20[20]");
}

TEST(BlameTable, ThreadsBehindOneThatWaitsForADiskAreItsCause) {
  BlameTable table;
  ChainLink disk;
  disk.what = "softirq BLOCK";
  Finding behind = blocked(1, 10);
  ChainLink writer = asleep(9, "flush", 10 * ms);
  writer.thread.comm = "writer";
  behind.chain = {writer, disk};
  Finding itself = blocked(9, 12);
  itself.name = "fdatasync";
  itself.user_stack = stack_of({"flush", "work"});
  itself.chain = {disk};
  table.add(behind, {});
  table.add(itself, {});
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause, "disk: fdatasync in flush ← work");
  EXPECT_EQ(causes[0].total_ns, 22 * ms);
}

TEST(BlameTable, AFutexThatTimedOutIsNoDelayUnlessItIsALock) {
  BlameTable table;
  Finding pool = blocked(1, 50);
  pool.error = "ETIMEDOUT";
  table.add(pool, {});
  EXPECT_TRUE(causes_of(table).empty());
  Finding monitor = blocked(1, 50);
  monitor.error = "ETIMEDOUT";
  monitor.user_stack = stack_of({"ObjectMonitor::EnterI", "work"});
  table.add(monitor, {});
  EXPECT_EQ(causes_of(table).size(), 1u);
}

TEST(BlameTable, TimeThatWasAskedForIsNoDelay) {
  BlameTable table;
  Finding finding = blocked(1, 50);
  finding.purpose = {.of = "time", .by = "its request", .meant_ns = 50 * ms};
  finding.breakdown->of(ShareKind::runqueue).ns = 4 * ms;
  table.add(finding, {});
  EXPECT_TRUE(causes_of(table).empty());
  EXPECT_EQ(table.runqueue().weighted(WhySampling()).count, 1u);
  EXPECT_EQ(table.runqueue().max_ns(), 4 * ms);
}

TEST(BlameTable, TheEndOfAThreadIsNoCause) {
  BlameTable table;
  Finding finding = blocked(1, 50);
  finding.user_stack->insert(finding.user_stack->begin(),
                             {.name = "__pthread_clockjoin_ex", .module = "/lib/libc.so.6"});
  table.add(finding, {});
  EXPECT_TRUE(causes_of(table).empty());
}

TEST(BlameTable, AWaitOutsideOfCallsIsAPageFault) {
  BlameTable table;
  Finding finding = blocked(1, 50);
  finding.span = "offcpu";
  table.add(finding, {});  // in a call, which has a finding of its own
  finding.waits[0].kernel_stack = {
      {.name = "folio_wait_bit_common", .module = "[kernel]", .is_kernel = true},
      {.name = "exc_page_fault", .module = "[kernel]", .is_kernel = true}};
  ChainLink disk;
  disk.means = "disk completion";
  disk.disk = "vda";
  finding.chain = {disk};
  table.add(finding, {});
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].cause, "disk vda: page fault in wait_for_lock ← work");
  EXPECT_EQ(causes[0].count, 1u);
}

TEST(BlameTable, AnOpenCallLastsUntilTheEndIfItsThreadStillWaits) {
  BlameTable table;
  for (const std::uint32_t tid : {1u, 2u}) {
    Finding hang = blocked(tid, 1000);
    hang.type = "hang";
    hang.number = tid;
    hang.time = KernelTime(Duration(1000 * ms));
    hang.breakdown.reset();
    hang.user_stack->insert(hang.user_stack->begin(),
                            {.name = "pthread_mutex_lock", .module = "/lib/libc.so.6"});
    table.add(hang, {});
  }
  table.finish(KernelTime(Duration(3000 * ms)), {{1, 3000 * ms}, {2, 5 * ms}});
  const auto causes = table.blocked(WhySampling()).causes;
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, why_open);
  EXPECT_EQ(causes[0].count, 1u);
  EXPECT_EQ(causes[0].total_ns, 3000 * ms);
}

TEST(BlameTable, AConnectInAPollCountsOnce) {
  BlameTable table;
  Finding connect;
  connect.span = "tcp_connect";
  connect.name = connect.title = "10.0.0.1:80";
  connect.thread = {10, 1, "client"};
  connect.latency_ns = 2000 * ms;
  table.add(connect, {});
  Finding poll = blocked(1, 1990);
  poll.name = "poll";
  poll.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80"};
  poll.user_stack = stack_of({"internal_connect"});
  table.add(poll, {});
  ASSERT_EQ(causes_of(table).size(), 1u);
  EXPECT_EQ(causes_of(table)[0].total_ns, 2000 * ms);
  poll.user_stack = stack_of({"fetch"});
  table.add(poll, {});
  EXPECT_EQ(causes_of(table).size(), 2u) << "that may be a wait for an answer";
}

TEST(BlameTable, AnOpenWaitForAnotherThreadIsIdleUnlessItIsForALock) {
  BlameTable table;
  Finding hang = blocked(1, 1000);
  hang.type = "hang";
  hang.number = 1;
  hang.breakdown.reset();
  table.add(hang, {});
  table.finish(KernelTime(Duration(3000 * ms)), {{1, 3000 * ms}});
  EXPECT_TRUE(table.blocked(WhySampling()).causes.empty());
}

TEST(BlameTable, AWaitWithoutAStackIsNoPageFault) {
  BlameTable table;
  Finding finding = blocked(1, 50);
  finding.span = "offcpu";
  finding.waits[0].kernel_stack.clear();
  table.add(finding, {});
  EXPECT_TRUE(causes_of(table).empty());
}

TEST(BlameTable, ThreadsHaveTheirLateTimeIfAskedFor) {
  for (const bool by_thread : {false, true}) {
    BlameTable table({.by_thread = by_thread});
    table.add(blocked(1, 30), {});
    table.add(blocked(2, 10), {});
    table.add(blocked(2, 5), {});
    const auto causes = causes_of(table);
    ASSERT_EQ(causes.size(), 1u);
    const std::map<std::uint32_t, std::uint64_t> threads{{1, 30 * ms}, {2, 15 * ms}};
    EXPECT_EQ(causes[0].threads, by_thread ? threads : decltype(threads){});
    EXPECT_EQ(table.unassigned_ns(), 0u);
  }
}

TEST(BlameTable, ThreadsThatAreTooManyAreCounted) {
  BlameTable table({.by_thread = true});
  for (std::uint32_t tid = 1; tid <= 20'003; ++tid) {
    Finding finding = blocked(tid, 10);
    finding.thread.comm = "waiter";
    table.add(finding, {});
  }
  EXPECT_EQ(causes_of(table)[0].threads.size(), 20'000u);
  EXPECT_EQ(table.unassigned_ns(), 30 * ms);
}

TEST(BlameTable, AnOperationCountsForTheLengthOfTheIntervalAtMost) {
  BlameTable table({.by_thread = true, .most_ns = 20 * ms});
  table.add(blocked(1, 50), {});
  table.add(blocked(1, 10), {});
  const auto causes = causes_of(table);
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].total_ns, 30 * ms);
  EXPECT_EQ(causes[0].threads.at(1), 30 * ms);
  EXPECT_EQ(causes[0].max_ns, 50 * ms);  // as the example shows
}

TEST(BlameTable, TheNextIntervalHasWhatIsStillOpen) {
  BlameTable table({.most_ns = 100 * ms});
  table.add(blocked(1, 30), {});
  Finding hang = blocked(2, 1000);
  hang.type = "hang";
  hang.name = "flock";
  hang.number = 7;
  hang.time = KernelTime(Duration(1000 * ms));
  hang.breakdown.reset();
  table.add(hang, {});
  for (int interval = 0; interval < 2; ++interval) {
    table = table.next();
    BlameTable now = table;
    now.finish(KernelTime(Duration(1500 * ms)), {{2, 1500 * ms}});
    const auto causes = now.blocked(WhySampling()).causes;
    ASSERT_EQ(causes.size(), 1u);
    EXPECT_EQ(causes[0].kind, why_open);
    EXPECT_EQ(causes[0].total_ns, 100 * ms);
    EXPECT_EQ(causes[0].max_ns, 1500 * ms);
  }
}

TEST(BlameTable, WhoWaitsBehindAThreadThatWaitsForAnAnswerIsNotIdle) {
  const auto cause_of = [](bool has_answer) {
    BlameTable table;
    Finding waiter = blocked(1, 100), asker = blocked(2, 90);
    waiter.chain = asker.chain = {asleep(9, "serve", 90 * ms), timeout()};
    table.add(waiter, {});
    asker.name = "recvfrom";
    asker.purpose = {.of = has_answer ? "answer" : "unknown"};
    table.add(asker, {});
    return causes_of(table);
  };
  ASSERT_EQ(cause_of(true).size(), 1u);
  EXPECT_FALSE(cause_of(true)[0].may_be_idle);
  EXPECT_TRUE(cause_of(false)[0].may_be_idle);
}

}  // namespace
}  // namespace overdue::blame_test

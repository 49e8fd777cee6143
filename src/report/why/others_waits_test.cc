#include "report/why/others_waits.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/why/groups.h"

namespace overdue::others_waits_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

/// A process with one thread.
OffcpuRow process_of(std::uint32_t pid, const std::string& name, std::uint32_t parent_pid = 1) {
  OffcpuRow row;
  row.pid = row.tid = pid;
  row.comm = row.process = name;
  row.parent_pid = parent_pid;
  row.parent = "parent";
  row.threads = row.processes = 1;
  return row;
}

/// Ten shells of one parent, and a thread that they delay.
std::vector<OffcpuRow> storm() {
  std::vector<OffcpuRow> threads = {process_of(10, "victim")};
  threads[0].preempted_ns = 80 * ms;
  threads[0].runqueue_ns = 20 * ms;
  for (std::uint32_t pid = 101; pid <= 110; ++pid) {
    threads.push_back(process_of(pid, "sh", 5));
    threads.back().runqueue_ns = 3 * ms;
  }
  return threads;
}

std::vector<WhyRow> rows_by(const std::vector<OffcpuRow>& threads, Whose by) {
  std::map<Owner, WhyRow> rows;
  for (const OffcpuRow& thread : threads) {
    WhyRow& row = rows[key_of(thread, by)];
    static_cast<Owner&>(row) = static_cast<const Owner&>(thread);
    row.add(thread);
  }
  std::vector<WhyRow> all;
  for (auto& [key, row] : rows) all.push_back(std::move(row));
  return all;
}

struct Session {
  std::vector<OffcpuRow> threads = storm();
  std::vector<WaitBehind> waits{};
  bool all_apart = true;

  std::vector<WhyRow> rows(Whose by = Whose::parent) const {
    std::vector<WhyRow> all = by == Whose::group ? groups_of(threads) : rows_by(threads, by);
    find_others_waits(all, by, threads, all_apart, waits);
    return all;
  }
  OthersWaits of(const std::string& comm, Whose by = Whose::parent) const {
    for (const WhyRow& row : rows(by))
      if (row.comm == comm) return row.others;
    ADD_FAILURE() << "no row " << comm;
    return {};
  }
};

Finding late(std::string_view span, std::uint32_t tid, std::vector<Wait> waits) {
  Finding finding;
  finding.span = span;
  finding.name = "write";
  finding.thread = {tid, tid, "victim"};
  finding.waits = std::move(waits);
  return finding;
}

Wait preempted(std::uint64_t ns, std::uint32_t holder, std::uint64_t held_ns) {
  Wait wait;
  wait.ns = ns;
  wait.state = "preempted";
  wait.ran.add({0, holder, ""}, held_ns);
  return wait;
}

TEST(OthersWaits, CountForTheRowThatHadTheCpu) {
  Session session;
  session.waits = {{10, 101, true, 30.0 * ms}, {10, 102, false, 15.0 * ms}, {101, 10, true, 2e6}};
  for (const Whose by : {Whose::parent, Whose::name, Whose::group}) {
    const OthersWaits shells = session.of("sh", by);
    EXPECT_EQ(shells.total_ns, 100 * ms);
    EXPECT_EQ(shells.behind_ns, 45 * ms);
    EXPECT_EQ(shells.unknown_ns, 55 * ms);
    const OthersWaits victim = session.of("victim", by);
    EXPECT_EQ(victim.total_ns, 30 * ms);
    EXPECT_EQ(victim.behind_ns, 2 * ms);
    EXPECT_EQ(victim.unknown_ns, 28 * ms);
  }
}

TEST(OthersWaits, LeaveOutTheWaitsOfARowForItself) {
  Session session;
  session.waits = {{101, 102, false, 3.0 * ms}};
  EXPECT_EQ(session.of("sh").behind_ns, 0u);
  EXPECT_EQ(session.of("sh").total_ns, 100 * ms);
  EXPECT_EQ(session.of("victim").behind_ns, 0u);
  EXPECT_EQ(session.of("victim").unknown_ns, 27 * ms);
  // By thread, they are two rows.
  std::uint64_t behind_ns = 0;
  for (const WhyRow& row : session.rows(Whose::thread)) behind_ns += row.others.behind_ns;
  EXPECT_EQ(behind_ns, 3 * ms);
}

TEST(OthersWaits, AreNeverMoreThanTheKernelsSums) {
  Session session;
  session.waits = {{10, 101, true, 900.0 * ms}, {10, 10, true, 100.0 * ms}, {10, 0, true, 1e9}};
  session.threads[0].displacers = {{101, "sh", 5, 900 * ms, 500 * ms}};
  const OthersWaits shells = session.of("sh");
  EXPECT_EQ(shells.behind_ns, 45 * ms);
  EXPECT_EQ(shells.unknown_ns, 0u);
}

TEST(OthersWaits, ThatWereNotExaminedCountForTheThreadThatTookTheCpu) {
  Session session;
  session.waits = {{10, 101, true, 20.0 * ms}, {10, 101, false, 10.0 * ms}};
  // Of 80 ms, 20 ms are known; of the rest, three quarters are the shells'.
  session.threads[0].displacers = {{102, "sh", 50, 60 * ms, 2 * ms},
                                   {0, "(migrated)", 1, 20 * ms, 20 * ms}};
  const OthersWaits shells = session.of("sh");
  EXPECT_EQ(shells.behind_ns, (20 + 10 + 45) * ms);
  EXPECT_EQ(shells.unknown_ns, 25 * ms);
}

TEST(OthersWaits, OfWokenThreadsCountForTheThreadThatHadTheCpuBefore) {
  Session session;
  session.waits = {{10, 101, false, 10.0 * ms}};
  // Of 20 ms in run queues, 10 ms are known; of the rest, half are the shells'.
  session.threads[0].behind = {{102, "sh", 50, 2 * ms, 1 * ms}, {0, "(unknown)", 9, 2 * ms, ms}};
  EXPECT_EQ(session.of("sh").behind_ns, (10 + 5) * ms);
}

TEST(OthersWaits, ThatWereExaminedInVainAreNotKnown) {
  Session session;
  session.waits = {{10, std::nullopt, true, 50.0 * ms}};
  session.threads[0].displacers = {{102, "sh", 50, 60 * ms, 2 * ms}};
  EXPECT_EQ(session.of("sh").behind_ns, 30 * ms);
  EXPECT_EQ(session.of("sh").unknown_ns, 70 * ms);
}

TEST(OthersWaits, BehindThreadsOfOthersAreKnownAndOfNoRow) {
  Session session;
  session.waits = {{10, 4711, true, 40.0 * ms}, {10, 0, false, 10.0 * ms}};
  EXPECT_EQ(session.of("sh").behind_ns, 0u);
  EXPECT_EQ(session.of("sh").unknown_ns, 50 * ms);
  session.all_apart = false;  // it may be one of those that are not kept apart
  EXPECT_EQ(session.of("sh").unknown_ns, 90 * ms);
}

TEST(OthersWaits, BehindATidThatWasUsedTwiceAreNotKnown) {
  Session session;
  session.threads.push_back(process_of(101, "other"));
  session.waits = {{10, 101, true, 40.0 * ms}};
  EXPECT_EQ(session.of("sh").behind_ns, 0u);
  EXPECT_EQ(session.of("other").behind_ns, 0u);
  EXPECT_EQ(session.of("sh").unknown_ns, 100 * ms);
}

TEST(CpuHolders, TakeTheWaitsOfCallsAndThoseOutsideOfCalls) {
  CpuHolders holders;
  holders.add(late("syscall", 10, {preempted(5 * ms, 101, 4 * ms)}), {});
  Finding outside = late("offcpu", 10, {preempted(6 * ms, 102, 12 * ms)});
  outside.waits[0].kernel_stack = {{.name = "irqentry_exit_to_user_mode"}};
  outside.places = {{.state = "preempted", .ns = 6 * ms, .count = 1, .kernel_stack = {}}};
  holders.add(outside, {});
  Finding within = outside;
  within.waits[0].kernel_stack = {{.name = "vfs_write"}, {.name = "do_syscall_64"}};
  holders.add(within, {});
  Finding open = late("syscall", 10, {preempted(5 * ms, 101, 4 * ms)});
  open.type = "hang";
  holders.add(open, {});
  holders.add(late("tcp_connect", 10, {preempted(5 * ms, 101, 4 * ms)}), {});
  const std::vector<WaitBehind> waits = holders.waits(WhySampling());
  ASSERT_EQ(waits.size(), 3u);
  EXPECT_EQ(waits[0].holder, std::nullopt);
  EXPECT_EQ(waits[0].ns, 1.0 * ms);
  EXPECT_EQ(waits[1].holder, 101u);
  EXPECT_EQ(waits[1].ns, 4.0 * ms);
  EXPECT_TRUE(waits[1].was_preempted);
  EXPECT_EQ(waits[2].holder, 102u);
  EXPECT_EQ(waits[2].ns, 6.0 * ms);  // no more than the wait
  EXPECT_EQ(holders.left_out_ns(), 0u);
}

TEST(CpuHolders, OfVeryManyPairsCountWhatIsLeftOut) {
  CpuHolders holders;
  for (std::uint32_t tid = 1; tid <= 20'001; ++tid)
    holders.add(late("syscall", tid, {preempted(4 * ms, 7, 4 * ms)}), {});
  EXPECT_EQ(holders.left_out_ns(), 4 * ms);
  EXPECT_EQ(holders.waits(WhySampling()).size(), 20'000u);
}

}  // namespace
}  // namespace overdue::others_waits_test

#include "report/offcpu/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "probes/sched/probe.h"
#include "report/offcpu/sections.h"

namespace overdue::table_test {
namespace {

constexpr u64 ms = 1'000'000;

offcpu_thread thread_at(u64 time_ms, u32 number, u32 tid, std::string_view comm) {
  offcpu_thread record{};
  record.header.time_ns = time_ms * ms;
  record.header.pid = 10;
  record.header.tid = tid;
  record.header.kind = RECORD_OFFCPU_THREAD;
  record.header.size = sizeof record;
  std::ranges::copy(comm, record.header.comm);
  record.since_ns = 1000 * ms;
  record.number = number;
  return record;
}

/// A table that gets records as from a session.
class OffcpuTables : public testing::Test {
 protected:
  void add(const offcpu_thread& record) {
    table.add(Record{&offcpu_thread_schema, std::as_bytes(std::span(&record, 1))});
  }
  void add_displacer(u32 number, u32 tid, std::string_view comm, u64 count, u64 total_ms) {
    offcpu_displacer record{};
    record.header.tid = 11;
    record.count = count;
    record.total_ns = total_ms * ms;
    record.max_ns = total_ms * ms / count;
    record.number = number;
    record.displacer_tid = tid;
    std::ranges::copy(comm, record.displacer);
    table.add(Record{&offcpu_displacer_schema, std::as_bytes(std::span(&record, 1))});
  }

  OffcpuTable table;
};

TEST_F(OffcpuTables, HaveWaitsForLocksOfFiles) {
  offcpu_thread record = thread_at(1100, 1, 11, "worker");
  record.reason_ns[REASON_FUTEX] = 10 * ms;
  record.lock_ns = 60 * ms;
  add(record);
  const OffcpuRow row = table.rows(Whose::thread).at(0);
  EXPECT_EQ(row.reason_ns[REASON_FUTEX], 10 * ms);
  EXPECT_EQ(row.reason_ns[REASON_LOCK], 60 * ms);
}

TEST_F(OffcpuTables, AnIntervalHasTheGrowthOfTheSums) {
  offcpu_thread record = thread_at(1100, 1, 11, "worker");
  record.sums.oncpu_ns = 30 * ms;
  record.sums.sleeping_ns = 70 * ms;
  record.waits = 3;
  record.longest_ns = 40 * ms;
  add(record);
  table.end_interval();
  record.header.time_ns = 1300 * ms;
  record.sums.oncpu_ns = 130 * ms;
  record.sums.preempted_ns = 100 * ms;
  record.waits = 8;
  record.preemptions = 5;
  record.longest_ns = 20 * ms;
  add(record);
  const std::vector<OffcpuRow> interval = table.interval_rows(Whose::thread);
  ASSERT_EQ(interval.size(), 1U);
  EXPECT_EQ(interval[0].wall_ns, 200 * ms);
  EXPECT_EQ(interval[0].oncpu_ns, 100 * ms);
  EXPECT_EQ(interval[0].offcpu_ns(), 100 * ms);
  EXPECT_EQ(interval[0].switches, 5U);
  EXPECT_EQ(interval[0].max_ns, 20 * ms);
  const std::vector<OffcpuRow> total = table.rows(Whose::thread);
  ASSERT_EQ(total.size(), 1U);
  EXPECT_EQ(total[0].wall_ns, 300 * ms);
  EXPECT_EQ(total[0].sleeping_ns, 70 * ms);
  EXPECT_EQ(total[0].max_ns, 40 * ms);
  EXPECT_EQ(total[0].unknown_ns(), 0U);
}

TEST_F(OffcpuTables, AThreadThatFirstRunsLaterStaysOneRow) {
  offcpu_thread record = thread_at(1100, 0, 11, "sleeper");
  record.sums.sleeping_ns = record.open_ns = 100 * ms;
  add(record);
  table.end_interval();
  record = thread_at(1200, 7, 11, "sleeper");
  record.sums.sleeping_ns = 150 * ms;
  record.sums.oncpu_ns = 50 * ms;
  record.waits = 1;
  record.longest_ns = 150 * ms;
  add(record);
  const std::vector<OffcpuRow> total = table.rows(Whose::thread);
  ASSERT_EQ(total.size(), 1U);
  EXPECT_EQ(total[0].wall_ns, 200 * ms);
  EXPECT_EQ(total[0].sleeping_ns, 150 * ms);
  const std::vector<OffcpuRow> interval = table.interval_rows(Whose::thread);
  ASSERT_EQ(interval.size(), 1U);
  EXPECT_EQ(interval[0].sleeping_ns, 50 * ms);
}

TEST_F(OffcpuTables, ATidThatIsUsedAgainHasTwoRows) {
  offcpu_thread first = thread_at(1100, 1, 11, "first");
  first.sums.oncpu_ns = 100 * ms;
  first.flags = OFFCPU_ENDED;
  add(first);
  offcpu_thread second = thread_at(1200, 2, 11, "second");
  second.sums.oncpu_ns = 200 * ms;
  add(second);
  EXPECT_EQ(table.rows(Whose::thread).size(), 2U);
  const std::vector<OffcpuRow> processes = table.rows(Whose::process);
  ASSERT_EQ(processes.size(), 1U);
  EXPECT_EQ(processes[0].threads, 2U);
  EXPECT_EQ(processes[0].oncpu_ns, 300 * ms);
}

TEST_F(OffcpuTables, DisplacersOfARowAddUpAndTheLongestComesFirst) {
  for (const u32 number : {1U, 2U}) {
    offcpu_thread record = thread_at(1500, number, 10 + number, "worker");
    record.sums.preempted_ns = 40 * ms;
    add(record);
    add_displacer(number, 50, "hog", 4, 30);
    add_displacer(number, 51, "kworker/0:1", 1, 10);
  }
  const std::vector<OffcpuRow> named = table.rows(Whose::name);
  ASSERT_EQ(named.size(), 1U);
  EXPECT_EQ(named[0].comm, "worker");
  EXPECT_EQ(named[0].threads, 2U);
  ASSERT_EQ(named[0].displacers.size(), 2U);
  EXPECT_EQ(named[0].displacers[0].comm, "hog");
  EXPECT_EQ(named[0].displacers[0].count, 8U);
  EXPECT_EQ(named[0].displacers[0].total_ns, 60 * ms);
  EXPECT_EQ(all_displacers(table.rows(Whose::thread))[0].total_ns, 60 * ms);
}

TEST_F(OffcpuTables, DisplacersOfManyNamesStayWithinTheLimit) {
  add(thread_at(1500, 1, 11, "worker"));
  for (u32 tid = 1; tid <= 5'000; ++tid) add_displacer(1, tid, "d" + std::to_string(tid), 1, 1);
  const std::vector<OffcpuRow> rows = table.rows(Whose::thread);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].displacers.size(), 2'001U);
  std::uint64_t counted = 0;
  for (const Displacer& displacer : rows[0].displacers) counted += displacer.count;
  EXPECT_EQ(counted, 5'000U);
}

TEST_F(OffcpuTables, APatternHasTheThreadsWhoseNamesDifferInNumbers) {
  for (const u32 number : {1U, 2U, 3U}) {
    offcpu_thread record = thread_at(1100, number, 10 + number,
                                     number == 3   ? "acceptor"
                                     : number == 1 ? "dw-7"
                                                   : "dw-22");
    record.sums.oncpu_ns = number * 10 * ms;
    add(record);
  }
  std::vector<OffcpuRow> rows = table.rows(Whose::pattern);
  ASSERT_EQ(rows.size(), 2U);
  std::ranges::sort(rows, {}, &OffcpuRow::comm);
  EXPECT_EQ(rows[0].comm, "acceptor");
  EXPECT_EQ(rows[1].comm, "dw-*");
  EXPECT_EQ(rows[1].threads, 2U);
  EXPECT_EQ(rows[1].oncpu_ns, 30 * ms);
}

TEST_F(OffcpuTables, EndedThreadsThatAreTooManyAddUpByName) {
  constexpr u32 threads = 25'000;
  for (u32 number = 1; number <= threads; ++number) {
    offcpu_thread record = thread_at(1100, number, number, "short");
    record.sums.oncpu_ns = 100 * ms;
    record.flags = OFFCPU_ENDED;
    add(record);
  }
  EXPECT_EQ(table.merged_threads(), 20'000U);
  std::uint64_t counted = 0, oncpu_ns = 0;
  for (const OffcpuRow& row : table.rows(Whose::thread)) {
    counted += row.threads;
    oncpu_ns += row.oncpu_ns;
  }
  EXPECT_EQ(counted, threads);
  EXPECT_EQ(oncpu_ns, u64{threads} * 100 * ms);
}

TEST_F(OffcpuTables, ShortProcessesOfOneParentAreOneRowHoweverMany) {
  constexpr u32 processes = 45'000;
  for (u32 number = 1; number <= processes; ++number) {
    offcpu_thread record = thread_at(1100, number, number, number % 2 == 0 ? "sh" : "awk");
    record.header.pid = number;
    record.sums.oncpu_ns = 100 * ms;
    record.flags = OFFCPU_ENDED;
    record.origin.is_known = 1;
    record.origin.parent_pid = number % 3 == 0 ? 7 : 4126;
    std::ranges::copy(std::string_view(record.header.comm), record.origin.process);
    add(record);
  }
  const std::vector<OffcpuRow> rows = table.rows(Whose::parent);
  ASSERT_EQ(rows.size(), 4U);
  std::uint64_t counted = 0;
  for (const OffcpuRow& row : rows) {
    EXPECT_EQ(row.processes, row.parent_pid == 7 ? processes / 6 : processes / 3) << row.comm;
    EXPECT_EQ(row.oncpu_ns, row.processes * 100 * ms);
    counted += row.processes;
  }
  EXPECT_EQ(counted, processes);
}

TEST_F(OffcpuTables, NamesOfEndedThreadsStayWithinTheLimit) {
  constexpr u32 threads = 70'000;
  for (u32 number = 1; number <= threads; ++number) {
    offcpu_thread record = thread_at(1100, number, number, "t" + std::to_string(number));
    record.sums.oncpu_ns = 100 * ms;
    record.flags = OFFCPU_ENDED;
    add(record);
  }
  const std::vector<OffcpuRow> rows = table.rows(Whose::name);
  EXPECT_LE(rows.size(), 40'001U);
  std::uint64_t counted = 0;
  for (const OffcpuRow& row : rows) counted += row.threads;
  EXPECT_EQ(counted, threads);
}

TEST_F(OffcpuTables, HaveTheFullNamesOfKernelThreads) {
  Names names;
  names.threads = {{10, "kworker/R-kvfree_rcu_reclaim"}, {12, "kworker/0:1-events"}};
  add(thread_at(1100, 1, 10, "kworker/R-kvfre"));
  add(thread_at(1100, 2, 11, "worker"));
  add_displacer(2, 12, "kworker/0:1", 1, 1);
  const auto named = [&](Whose by, QueueOfWork queue) {
    std::vector<OffcpuRow> rows = table.rows(by);
    complete_rows(rows, by, names, queue);
    std::string text;
    for (const OffcpuRow& row : rows) {
      text += row.comm;
      for (const Displacer& one : row.displacers) text += " by " + one.comm;
      text += '\n';
    }
    return text;
  };
  EXPECT_EQ(named(Whose::thread, QueueOfWork::shown),
            "kworker/R-kvfree_rcu_reclaim\nworker by kworker/0:1-events\n");
  EXPECT_EQ(named(Whose::thread, QueueOfWork::left_out),
            "kworker/R-kvfree_rcu_reclaim\nworker by kworker/0:1\n");
  EXPECT_EQ(named(Whose::name, QueueOfWork::left_out), "kworker/R-kvfre\nworker by kworker/0:1\n");
}

}  // namespace
}  // namespace overdue::table_test

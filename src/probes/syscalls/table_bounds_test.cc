// What a hostile file claims must not fill the memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/table.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

void add_call(SyscallTable& table, u32 nr, u32 tid) {
  syscall_call one{};
  one.header.pid = one.header.tid = tid;
  one.nr = nr;
  one.latency_ns = 1;
  table.add({&syscall_call_schema, std::as_bytes(std::span(&one, 1))});
}

LatencyTable rows_of(const SyscallTable& table) {
  return table.table({}, Duration(1), [](u64) { return std::string(); });
}

TEST(SyscallTable, RowsBeyondTheMostAreFoldedTogetherAndNoneIsLost) {
  constexpr u32 beyond = 100;
  SyscallTable table({.process = true, .thread = true});
  for (u32 tid = 1; tid <= SyscallTable::rows_max + beyond; ++tid) add_call(table, 0, tid);
  add_call(table, 0, 1);  // a row that exists is still found
  const LatencyTable result = rows_of(table);
  EXPECT_EQ(result.rows.size(), SyscallTable::rows_max + 1);
  std::size_t calls = 0;
  for (const LatencyRow& row : result.rows) {
    calls += row.calls();
    if (row.thread->comm == "(other)") {
      EXPECT_EQ(row.calls(), beyond);
      EXPECT_EQ(row.thread->tid, 0u);
      EXPECT_EQ(row.process->pid, 0u);
    }
    if (row.thread->tid == 1) {
      EXPECT_EQ(row.calls(), 2u);
    }
  }
  EXPECT_EQ(calls, SyscallTable::rows_max + beyond + 1);
  EXPECT_EQ(table.calls(), calls);
}

TEST(SyscallTable, ShortProcessesOfOneParentShareTheirRowsHoweverMany) {
  constexpr u32 processes = SyscallTable::rows_max + 5'000;
  SyscallTable table({.parent = true});
  for (u32 pid = 1; pid <= processes; ++pid)
    for (const u32 nr : {0u, 1u}) {
      syscall_cell cell{};
      cell.header.pid = cell.header.tid = pid;
      cell.nr = nr;
      cell.unreturned = 2;
      cell.origin = {
          .start_ns = pid, .parent_pid = 7, .is_known = 1, .process = "sh", .parent = "cron"};
      table.add({&syscall_cell_schema, std::as_bytes(std::span(&cell, 1))});
    }
  const LatencyTable result = rows_of(table);
  ASSERT_EQ(result.rows.size(), 2u);
  for (const LatencyRow& row : result.rows) {
    EXPECT_EQ(row.calls(), 2 * processes);
    EXPECT_EQ(row.processes, processes);
    EXPECT_EQ(row.owner->comm, "sh");
    EXPECT_EQ(row.owner->parent_pid, 7u);
  }
  EXPECT_EQ(table.processes().left_out(), 0u);
}

TEST(SyscallTable, NamesBeyondTheMostAreOneRow) {
  SyscallTable table({.name = true});
  for (u32 tid = 1; tid <= SyscallTable::rows_max + 100; ++tid) {
    syscall_call one{};
    one.header.pid = one.header.tid = tid;
    const std::string name = std::to_string(tid);
    std::ranges::copy(name, one.header.comm);
    table.add({&syscall_call_schema, std::as_bytes(std::span(&one, 1))});
  }
  const LatencyTable result = rows_of(table);
  EXPECT_EQ(result.rows.size(), SyscallTable::rows_max + 1);
  const auto other = std::ranges::find_if(
      result.rows, [](const LatencyRow& row) { return row.owner->comm == "(other)"; });
  ASSERT_NE(other, result.rows.end());
  EXPECT_EQ(other->calls(), 100u);
}

TEST(SyscallTable, AProgramThatCallsEveryNumberThereIsDoesNotFillOurMemory) {
  SyscallTable table(GroupBy{});
  for (u32 nr = 0; nr < SyscallTable::rows_max + 5'000; ++nr) add_call(table, 1'000 + nr, 1);
  const LatencyTable result = rows_of(table);
  EXPECT_LE(result.rows.size(), SyscallTable::rows_max + 1'000);
  std::size_t calls = 0;
  for (const LatencyRow& row : result.rows) calls += row.calls();
  EXPECT_EQ(calls, SyscallTable::rows_max + 5'000);
}

TEST(SyscallTable, KeepsTheOldestUnfinishedCallsAndCountsTheOthers) {
  SyscallTable table{GroupBy{}};
  constexpr u64 all = SyscallTable::rows_max + 1000;
  for (u64 i = 0; i < all; ++i) {
    syscall_open open{};
    open.age_ns = i * 7919 % all;  // every age once, in no order
    table.add({&syscall_open_schema, std::as_bytes(std::span(&open, 1))});
  }
  const std::vector<OpenSpan> kept = table.unfinished({});
  EXPECT_EQ(kept.size(), SyscallTable::rows_max);
  EXPECT_EQ(std::ranges::min(kept, {}, &OpenSpan::age_ns).age_ns, 1000u);
  EXPECT_EQ(table.unfinished_omitted(), 1000u);
  table.clear();
  EXPECT_TRUE(table.unfinished({}).empty());
  EXPECT_EQ(table.unfinished_omitted(), 0u);
}

TEST(SyscallTable, RowsStayBoundedWhateverAFileClaims) {
  SyscallTable table{GroupBy{.process = true, .container = true}};
  syscall_call one{};
  for (u32 i = 0; i < 4 * SyscallTable::rows_max; ++i) {
    one.abi = static_cast<u16>(i);
    one.header.cgroup_id = i;
    table.add({&syscall_call_schema, std::as_bytes(std::span(&one, 1))});
  }
  const LatencyTable rows = rows_of(table);
  EXPECT_LT(rows.rows.size(), 2 * SyscallTable::rows_max + 4 * SYSCALL_TABLE_SIZE);
  EXPECT_EQ(table.calls(), 4 * SyscallTable::rows_max);
}

TEST(SyscallTable, ErrnoValuesThatCannotBeAreNotKeptApart) {
  SyscallTable table{GroupBy{}};
  syscall_cell cell{};
  cell.errors = 3;
  cell.errnos[0] = {.code = 2, .count = 1};
  cell.errnos[1] = {.code = 4096, .count = 1};
  cell.errnos[2] = {.code = UINT32_MAX, .count = 1};
  table.add({&syscall_cell_schema, std::as_bytes(std::span(&cell, 1))});
  const LatencyTable rows = rows_of(table);
  EXPECT_THAT(rows.rows.at(0).errnos, ElementsAre(Pair("other", 2), Pair("ENOENT", 1)));
}

}  // namespace
}  // namespace overdue

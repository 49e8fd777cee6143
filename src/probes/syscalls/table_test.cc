#include "probes/syscalls/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <cerrno>
#include <cstring>
#include <random>

#include "probes/syscalls/probe.h"
#include "syscalls/names.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

struct Who {
  u32 pid = 100;
  u32 tid = 100;
  std::string comm = "worker";
  u64 cgroup_id = 0;
};

event_header header(const Who& who, u16 kind, u16 size) {
  event_header result{};
  result.kind = kind;
  result.size = size;
  result.pid = who.pid;
  result.tid = who.tid;
  result.cgroup_id = who.cgroup_id;
  std::memcpy(result.comm, who.comm.data(), std::min(who.comm.size(), sizeof result.comm));
  return result;
}

syscall_call call(u32 nr, u64 latency_ns, s64 ret = 0, const Who& who = {}) {
  syscall_call result{};
  result.header = header(who, RECORD_SYSCALL_CALL, sizeof result);
  result.nr = nr;
  result.latency_ns = latency_ns;
  result.ret = ret;
  return result;
}

void add_error(syscall_cell& cell, s64 ret) {
  if (ret >= 0 || ret < -4095) return;
  ++cell.errors;
  for (errno_count& slot : cell.errnos) {
    if (slot.code != 0 && slot.code != static_cast<u32>(-ret)) continue;
    slot.code = static_cast<u32>(-ret);
    ++slot.count;
    return;
  }
}

/// Does what the kernel side does with a call, so that both ways can be compared.
void add_to(syscall_cell& cell, const syscall_call& call) {
  if (call.flags & SYSCALL_REFUSED) {
    ++cell.refused;
    if (call.flags == SYSCALL_REFUSED) add_error(cell, call.ret);
    return;
  }
  if (call.flags & SYSCALL_UNRETURNED) {
    ++cell.unreturned;
    return;
  }
  latency_histogram& latency = cell.latency;
  latency.min_ns = latency.count ? std::min(latency.min_ns, call.latency_ns) : call.latency_ns;
  latency.max_ns = std::max(latency.max_ns, call.latency_ns);
  latency.total_ns += call.latency_ns;
  ++latency.count;
  ++latency.buckets[histogram_bucket(call.latency_ns)];
  add_error(cell, call.ret);
}

syscall_cell cell_of(const std::vector<syscall_call>& calls) {
  syscall_cell cell{};
  cell.header = calls.front().header;
  cell.header.kind = RECORD_SYSCALL_CELL;
  cell.header.size = sizeof cell;
  cell.nr = calls.front().nr;
  cell.abi = calls.front().abi;
  for (const syscall_call& one : calls) add_to(cell, one);
  return cell;
}

template <typename T>
void add(SyscallTable& table, const Schema& schema, const T& wire) {
  table.add(Record{&schema, std::as_bytes(std::span(&wire, 1))});
}
void add(SyscallTable& table, const syscall_call& wire) {
  add(table, syscall_call_schema, wire);
}
void add(SyscallTable& table, const syscall_cell& wire) {
  add(table, syscall_cell_schema, wire);
}

LatencyTable finished(const SyscallTable& table) {
  return table.table({}, std::chrono::seconds(1),
                     [](std::uint64_t id) { return fmt::format("box-{}", id); });
}

const LatencyRow& only_row(const LatencyTable& table) {
  EXPECT_EQ(table.rows.size(), 1u);
  return table.rows.at(0);
}

TEST(SyscallTable, FoldsCallsOfOneNumberIntoOneRow) {
  SyscallTable table({});
  add(table, call(SYS_read, 100, 5));
  add(table, call(SYS_read, 300, -EAGAIN, {.pid = 7, .tid = 8, .comm = "other"}));
  const LatencyTable result = finished(table);
  const LatencyRow& row = only_row(result);
  EXPECT_EQ(result.title, "syscalls");
  EXPECT_EQ(result.wall, std::chrono::seconds(1));
  EXPECT_EQ(row.name, "read");
  EXPECT_EQ(row.id, SYS_read);
  EXPECT_EQ(row.calls(), 2u);
  EXPECT_EQ(row.latency.total_ns(), 400u);
  EXPECT_EQ(row.latency.min_ns(), 100u);
  EXPECT_EQ(row.latency.max_ns(), 300u);
  EXPECT_EQ(row.errors, 1u);
  EXPECT_THAT(row.errnos, ElementsAre(Pair("EAGAIN", 1)));
  EXPECT_FALSE(row.process || row.thread || row.container);
  EXPECT_FALSE(row.late);
  EXPECT_EQ(table.calls(), 2u);
}

TEST(SyscallTable, NumbersOfDifferentAbisAreDifferentCalls) {
  SyscallTable table({});
  syscall_call compat = call(3, 10);
  compat.abi = ABI_COMPAT;
  add(table, call(3, 10));
  add(table, compat);
  add(table, call(9999, 10));
  std::vector<std::string> names;
  for (const LatencyRow& row : finished(table).rows) names.push_back(row.name);
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("close", "i386:read", "syscall_9999"));
}

TEST(SyscallTable, OnlyMinus1ToMinus4095AreErrors) {
  SyscallTable table({});
  for (const s64 ret : {s64{-1}, s64{-4095}, s64{-4096}, s64{0}, s64{1}, INT64_MIN, INT64_MAX})
    add(table, call(SYS_mmap, 1, ret));
  const LatencyTable result = finished(table);
  EXPECT_EQ(only_row(result).errors, 2u);
  EXPECT_EQ(only_row(result).latency.count(), 7u);
}

TEST(SyscallTable, CellsFoldWithCellsAndWithCalls) {
  SyscallTable table({});
  add(table, cell_of({call(SYS_read, 100), call(SYS_read, 5'000, -EINTR)}));
  add(table, cell_of({call(SYS_read, 50, -EINTR)}));
  add(table, call(SYS_read, 1'000'000));
  const LatencyTable result = finished(table);
  const LatencyRow& row = only_row(result);
  EXPECT_EQ(row.calls(), 4u);
  EXPECT_EQ(row.latency.min_ns(), 50u);
  EXPECT_EQ(row.latency.max_ns(), 1'000'000u);
  EXPECT_EQ(row.latency.total_ns(), 1'005'150u);
  EXPECT_THAT(row.errnos, ElementsAre(Pair("EINTR", 2)));
  EXPECT_EQ(table.calls(), 4u);
}

TEST(SyscallTable, ErrnosBeyondACellsSlotsAreCountedAsOther) {
  std::vector<syscall_call> calls;
  for (int code = 1; code <= SYSCALL_ERRNOS + 2; ++code)
    for (int times = 0; times < code; ++times) calls.push_back(call(SYS_openat, 10, -code));
  SyscallTable table({});
  add(table, cell_of(calls));
  const LatencyTable result = finished(table);
  const LatencyRow& row = only_row(result);
  EXPECT_EQ(row.errors, calls.size());
  u64 named = 0, other = 0;
  for (const auto& [name, count] : row.errnos) (name == "other" ? other : named) += count;
  EXPECT_EQ(other, 7u + 8u);  // the two codes that came after the slots were taken
  EXPECT_EQ(named + other, row.errors);
  EXPECT_EQ(row.errnos.front().first, "other");  // most frequent first
}

TEST(SyscallTable, ADamagedCellsErrnosNeverExceedWhatTheySayOverall) {
  syscall_cell cell = cell_of({call(SYS_read, 1, -EINTR)});
  cell.errors = 0;  // less than the slots say
  SyscallTable table({});
  add(table, cell);
  const LatencyTable result = finished(table);
  for (const auto& [name, count] : only_row(result).errnos)
    EXPECT_LE(count, 1u) << name;  // in particular no "other" that wrapped around
}

TEST(SyscallTable, CallsThatNeverReturnedHaveNoLatencyAndNoErrno) {
  syscall_call ended = call(SYS_exit_group, 123'456, -ENOENT);
  ended.flags = SYSCALL_UNRETURNED;
  SyscallTable table({});
  add(table, ended);
  add(table, cell_of({ended, ended}));
  const LatencyTable result = finished(table);
  const LatencyRow& row = only_row(result);
  EXPECT_EQ(row.unreturned, 3u);
  EXPECT_EQ(row.calls(), 3u);
  EXPECT_EQ(row.latency.count(), 0u);
  EXPECT_EQ(row.latency.min_ns(), 0u);
  EXPECT_EQ(row.errors, 0u);
  EXPECT_THAT(row.errnos, IsEmpty());
  EXPECT_EQ(table.calls(), 3u);
}

TEST(SyscallTable, RefusedCallsHaveTheirErrorsAndNoLatency) {
  const auto refused = [](s64 ret, int flags = 0) {
    syscall_call made = call(SYS_getuid, 0, ret);
    made.flags = static_cast<u8>(SYSCALL_REFUSED | flags);
    return made;
  };
  const std::vector<syscall_call> calls{refused(-EPERM), refused(0), refused(-3, SYSCALL_TRAPPED),
                                        refused(-3, SYSCALL_UNRETURNED), call(SYS_getuid, 70)};
  SyscallTable table({});
  for (const syscall_call& one : calls) add(table, one);
  add(table, cell_of(calls));
  const LatencyTable result = finished(table);
  const LatencyRow& row = only_row(result);
  EXPECT_EQ(row.refused, 8u);
  EXPECT_EQ(row.calls(), 10u);
  EXPECT_EQ(row.unreturned, 0u);
  EXPECT_EQ(row.latency.count(), 2u);
  EXPECT_EQ(row.latency.min_ns(), 70u);
  EXPECT_THAT(row.errnos, ElementsAre(Pair("EPERM", 2)));
  EXPECT_EQ(row.errors, 2u);
  EXPECT_EQ(table.calls(), 10u);
}

TEST(SyscallTable, LateCallsAreMarkedAndCountedButNotTimed) {
  SyscallTable table({});
  add(table, call(SYS_read, 10));
  syscall_call counted = call(SYS_fsync, 0);
  counted.flags = SYSCALL_LATE | SYSCALL_UNTIMED;
  add(table, counted);
  syscall_cell timed = cell_of({call(SYS_fsync, 77)});
  timed.late = 1;
  timed.untimed = 1;
  add(table, timed);
  const LatencyTable result = finished(table);
  ASSERT_EQ(result.rows.size(), 2u);
  const LatencyRow& fsync = result.rows[0].name == "fsync" ? result.rows[0] : result.rows[1];
  const LatencyRow& read = result.rows[0].name == "fsync" ? result.rows[1] : result.rows[0];
  EXPECT_TRUE(fsync.late);
  EXPECT_EQ(fsync.untimed, 2u);
  EXPECT_EQ(fsync.latency.count(), 1u);
  EXPECT_EQ(fsync.calls(), 3u);
  EXPECT_FALSE(read.late);
  EXPECT_EQ(table.calls(), 4u);
}

TEST(SyscallTable, OpenCallsAreListedButAreNoRows) {
  syscall_open open{};
  open.header = header({.tid = 55, .comm = "sleeper"}, RECORD_SYSCALL_OPEN, sizeof open);
  open.nr = SYS_futex;
  open.age_ns = 42;
  SyscallTable table({});
  add(table, syscall_open_schema, open);
  LatencyTable result = finished(table);
  EXPECT_THAT(result.rows, IsEmpty());
  ASSERT_EQ(result.unfinished.size(), 1u);
  EXPECT_EQ(result.unfinished[0].name, "futex");
  EXPECT_EQ(result.unfinished[0].tid, 55u);
  EXPECT_EQ(result.unfinished[0].comm, "sleeper");
  EXPECT_EQ(result.unfinished[0].age_ns, 42u);
  EXPECT_EQ(table.calls(), 0u);
  table.clear();
  EXPECT_THAT(finished(table).unfinished, IsEmpty());
}

TEST(SyscallTable, OtherKindsOfRecordAreIgnored) {
  const Schema foreign{.id = 999, .name = "x", .size = 48, .fields = {}, .help = "x"};
  SyscallTable table({});
  add(table, foreign, header({}, 999, 48));
  EXPECT_THAT(finished(table).rows, IsEmpty());
  EXPECT_EQ(table.calls(), 0u);
}

TEST(SyscallTable, ACommThatFillsItsFieldNeedsNoTerminator) {
  SyscallTable table({.process = true});
  add(table, call(SYS_read, 1, 0, {.comm = "0123456789abcdef"}));
  const LatencyTable result = finished(table);
  EXPECT_EQ(only_row(result).process->comm, "0123456789abcdef");
}

/// One call each by two threads of one process and one of another, in two cgroups.
std::size_t rows_by(GroupBy by) {
  SyscallTable table(by);
  add(table, call(SYS_read, 1, 0, {.pid = 10, .tid = 10, .comm = "a", .cgroup_id = 1}));
  add(table, call(SYS_read, 1, 0, {.pid = 10, .tid = 11, .comm = "a", .cgroup_id = 1}));
  add(table, call(SYS_read, 1, 0, {.pid = 20, .tid = 20, .comm = "b", .cgroup_id = 2}));
  add(table, call(SYS_read, 1, 0, {.pid = 20, .tid = 20, .comm = "b", .cgroup_id = 1}));
  std::size_t calls = 0;
  const LatencyTable result = finished(table);
  EXPECT_EQ(result.by, by);
  for (const LatencyRow& row : result.rows) {
    EXPECT_EQ(row.process.has_value(), by.process);
    EXPECT_EQ(row.thread.has_value(), by.thread);
    EXPECT_EQ(row.container.has_value(), by.container);
    calls += row.calls();
  }
  EXPECT_EQ(calls, 4u);
  return result.rows.size();
}

TEST(SyscallTable, EveryCombinationOfGroupKeepsWhatItNamesApart) {
  EXPECT_EQ(rows_by({}), 1u);
  EXPECT_EQ(rows_by({.process = true}), 2u);
  EXPECT_EQ(rows_by({.thread = true}), 3u);
  EXPECT_EQ(rows_by({.container = true}), 2u);
  EXPECT_EQ(rows_by({.process = true, .thread = true}), 3u);
  EXPECT_EQ(rows_by({.process = true, .container = true}), 3u);
  EXPECT_EQ(rows_by({.thread = true, .container = true}), 4u);
  EXPECT_EQ(rows_by({.process = true, .thread = true, .container = true}), 4u);
}

TEST(SyscallTable, AThreadWithANewNameIsANewRow) {
  SyscallTable table({.thread = true});
  add(table, call(SYS_read, 1, 0, {.comm = "before"}));
  add(table, call(SYS_read, 1, 0, {.comm = "after"}));
  EXPECT_EQ(finished(table).rows.size(), 2u);
}

TEST(SyscallTable, ContainersAreNamedByTheCaller) {
  SyscallTable table({.container = true});
  add(table, call(SYS_read, 1, 0, {.cgroup_id = 31}));
  const LatencyTable result = finished(table);
  EXPECT_EQ(only_row(result).container, "box-31");
}

TEST(SyscallTable, TheNumberMinusOneIsANumberLikeAnother) {
  SyscallTable table({});
  add(table, call(~0u, 1, -ENOSYS));  // syscall(-1); also what seccomp makes of a refused call
  const LatencyTable result = finished(table);
  EXPECT_EQ(only_row(result).name, syscall_name(ABI_NATIVE, ~0u, {}));
}

bool same(const LatencyRow& a, const LatencyRow& b) {
  return a.name == b.name && a.id == b.id && a.process == b.process && a.thread == b.thread &&
         a.container == b.container && a.latency == b.latency && a.unreturned == b.unreturned &&
         a.errors == b.errors && a.errnos == b.errnos;
}

/// The same random calls, once one by one and once as one cell per thread, number and interval.
TEST(SyscallTable, FromCallsAndFromCellsOfTheSameCallsItIsTheSame) {
  std::mt19937 random(20261121);
  const auto below = [&](u32 limit) { return static_cast<u32>(random() % limit); };
  constexpr s64 results[] = {0, 1, -EAGAIN, -ENOENT, -EINTR, -EINVAL};  // fewer than slots
  for (const GroupBy by : {GroupBy{}, GroupBy{.process = true}, GroupBy{.thread = true},
                           GroupBy{.process = true, .thread = true, .container = true}}) {
    SyscallTable from_calls(by), from_cells(by);
    for (int interval = 0; interval < 3; ++interval) {
      std::map<std::pair<u32, u32>, std::vector<syscall_call>> gathered;
      for (int i = 0; i < 3'000; ++i) {
        const u32 tid = below(6);
        const u32 nr = below(5) == 0 ? 9'999 : below(4);
        syscall_call one = call(nr, u64{1} << below(50), results[below(std::size(results))],
                                {.pid = tid / 2, .tid = tid, .comm = "c", .cgroup_id = tid / 3});
        if (below(50) == 0) one.flags = SYSCALL_UNRETURNED;
        add(from_calls, one);
        gathered[{tid, nr}].push_back(one);
      }
      for (const auto& [key, calls] : gathered) add(from_cells, cell_of(calls));
    }
    const LatencyTable a = finished(from_calls), b = finished(from_cells);
    ASSERT_EQ(a.rows.size(), b.rows.size());
    for (std::size_t i = 0; i < a.rows.size(); ++i)
      EXPECT_TRUE(same(a.rows[i], b.rows[i])) << a.rows[i].name;
    EXPECT_EQ(from_calls.calls(), from_cells.calls());
  }
}

TEST(SyscallTable, ClearForgetsTheRows) {
  SyscallTable table({});
  add(table, call(SYS_read, 1));
  table.clear();
  EXPECT_THAT(finished(table).rows, IsEmpty());
  add(table, call(SYS_read, 9));
  const LatencyTable result = finished(table);
  EXPECT_EQ(only_row(result).latency.total_ns(), 9u);
}

}  // namespace
}  // namespace overdue

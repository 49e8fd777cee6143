#include "top/rows.h"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "report/why/figures_fixture.h"
#include "report/why/groups.h"

namespace overdue {
namespace {

using figures_test::ms;
using figures_test::thread_of;

/// A process with a leader and two waiters, and another program.
std::vector<OffcpuRow> four_threads() {
  std::vector<OffcpuRow> threads = {thread_of(10, 10, "app"), thread_of(10, 11, "waiter-1"),
                                    thread_of(10, 12, "waiter-2"), thread_of(20, 20, "other")};
  threads[1].runqueue_ns = 5 * ms;
  threads[2].preempted_ns = 7 * ms;
  threads[1].sleeping_ns = threads[2].sleeping_ns = 900 * ms;
  return threads;
}

WhyFigures figures_with(const std::vector<OffcpuRow>& threads, std::vector<WhyCause> causes) {
  WhyFigures figures;
  figures.groups = groups_of(threads);
  figures.causes = std::move(causes);
  return figures;
}

const TopRow& row_named(const std::vector<TopRow>& rows, const std::string& name) {
  const auto found = std::ranges::find(rows, name, &TopRow::name);
  if (found == rows.end()) throw std::runtime_error("no row " + name);
  return *found;
}

WhyCause behind_holder() {
  return {.cause = "futex behind holder",
          .kind = why_blocked,
          .total_ns = 500 * ms,
          .threads = {{11, 300 * ms}, {12, 200 * ms}}};
}

TEST(TopRows, AGroupAddsItsThreadsUp) {
  const std::vector<OffcpuRow> threads = four_threads();
  const auto rows = top_rows(threads, figures_with(threads, {behind_holder()}), TopBy::groups);
  ASSERT_EQ(rows.size(), 3U);
  const TopRow& waiters = row_named(rows, "waiter-* ×2");
  EXPECT_EQ(waiters.late_ns, 512 * ms);
  EXPECT_EQ(waiters.cause_ns, 500 * ms);
  EXPECT_EQ(waiters.cause->cause, "futex behind holder");
  EXPECT_EQ(row_named(rows, "other[20]").cause, nullptr);
}

TEST(TopRows, AThreadHasItsOwnPart) {
  const std::vector<OffcpuRow> threads = four_threads();
  const auto rows = top_rows(threads, figures_with(threads, {behind_holder()}), TopBy::threads);
  ASSERT_EQ(rows.size(), 4U);
  EXPECT_EQ(row_named(rows, "waiter-1[11]").late_ns, 305 * ms);
  EXPECT_EQ(row_named(rows, "waiter-2[12]").late_ns, 207 * ms);
  EXPECT_EQ(row_named(rows, "app[10]").late_ns, 0U);
}

TEST(TopRows, AProcessHasTheNameOfItsLeader) {
  const std::vector<OffcpuRow> threads = four_threads();
  const auto rows = top_rows(threads, figures_with(threads, {behind_holder()}), TopBy::processes);
  ASSERT_EQ(rows.size(), 2U);
  const TopRow& process = row_named(rows, "app[10] ×3");
  EXPECT_EQ(process.late_ns, 512 * ms);
  EXPECT_EQ(process.sums.wall_ns, 3000 * ms);
}

TEST(TopRows, GroupsOfManyProcessesHaveAllTheirThreads) {
  std::vector<OffcpuRow> threads;
  for (std::uint32_t pid = 100; pid < 104; ++pid) {
    threads.push_back(thread_of(pid, pid, "sh"));
    threads.back().throttled_ns = 3 * ms;
  }
  const WhyCause throttled{.cause = "throttled /a", .kind = why_throttled, .total_ns = 12 * ms};
  const auto rows = top_rows(threads, figures_with(threads, {throttled}), TopBy::groups);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].name, "sh ×4");
  EXPECT_EQ(rows[0].late_ns, 12 * ms);
  EXPECT_EQ(rows[0].cause_ns, 12 * ms);
}

TEST(TopRows, DiskWaitsCountOnceWhetherExaminedOrNot) {
  std::vector<OffcpuRow> threads = {thread_of(10, 10, "app")};
  threads[0].reason_ns[REASON_DISK] = 100 * ms;
  threads[0].reason_ns[REASON_FAULT] = 20 * ms;
  threads[0].uninterruptible_ns = 120 * ms;
  const WhyCause examined{.cause = "disk vda: fsync in flush",
                          .kind = why_blocked,
                          .total_ns = 90 * ms,
                          .threads = {{10, 90 * ms}}};
  const WhyCause each_short{
      .cause = "disk: waits shorter than 1.00ms", .kind = why_blocked, .total_ns = 110 * ms};
  EXPECT_EQ(top_rows(threads, figures_with(threads, {examined}), TopBy::groups)[0].late_ns,
            120 * ms);
  const auto rows = top_rows(threads, figures_with(threads, {each_short}), TopBy::groups);
  EXPECT_EQ(rows[0].late_ns, 120 * ms);
  EXPECT_EQ(rows[0].cause_ns, 110 * ms);
}

TEST(TopRows, TimeOnTheCpuIsACauseButNotLate) {
  std::vector<OffcpuRow> threads = {thread_of(10, 10, "app"), thread_of(20, 20, "app")};
  threads[0].oncpu_ns = 800 * ms;
  threads[1].oncpu_ns = 1 * ms;
  const WhyCause busy{.cause = "on the CPU: 90 % in spin",
                      .kind = why_cpu,
                      .total_ns = 800 * ms,
                      .pid = 10,
                      .comm = "app"};
  const auto rows = top_rows(threads, figures_with(threads, {busy}), TopBy::threads);
  EXPECT_EQ(row_named(rows, "app[10]").late_ns, 0U);
  EXPECT_EQ(row_named(rows, "app[10]").cause_ns, 800 * ms);
  EXPECT_EQ(row_named(rows, "app[20]").cause, nullptr);
}

TEST(TopRows, ARowHasItsLargestCause) {
  std::vector<OffcpuRow> threads = {thread_of(10, 11, "app")};
  threads[0].runqueue_ns = 400 * ms;
  threads[0].sleeping_ns = 600 * ms;
  const WhyCause runqueue{.cause = "waited for a CPU", .kind = why_runqueue, .total_ns = 9000 * ms};
  const auto rows =
      top_rows(threads, figures_with(threads, {behind_holder(), runqueue}), TopBy::groups);
  EXPECT_EQ(rows[0].cause->kind, why_runqueue);
  EXPECT_EQ(rows[0].cause_ns, 400 * ms);
  EXPECT_EQ(rows[0].late_ns, 700 * ms);
}

TEST(TopRows, EstimatesDoNotExceedTheTimeOffTheCpu) {
  std::vector<OffcpuRow> threads = {thread_of(10, 11, "app")};
  threads[0].runqueue_ns = 1 * ms;
  threads[0].sleeping_ns = 40 * ms;
  const auto rows = top_rows(threads, figures_with(threads, {behind_holder()}), TopBy::threads);
  EXPECT_EQ(rows[0].late_ns, 41 * ms);
  EXPECT_EQ(rows[0].cause_ns, 40 * ms);
}

TEST(TopRows, NamesAreEscaped) {
  const std::vector<OffcpuRow> threads = {thread_of(10, 10, "\x1b[2J"), thread_of(10, 11, "\n")};
  for (const TopBy by : {TopBy::groups, TopBy::threads, TopBy::processes})
    for (const TopRow& row : top_rows(threads, figures_with(threads, {}), by))
      EXPECT_EQ(row.name.find_first_of("\x1b\n"), std::string::npos) << row.name;
}

}  // namespace
}  // namespace overdue

#include "core/latency_table.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace overdue {
namespace {

LatencyRow row(std::string name, std::uint64_t latency_ns, std::uint64_t calls,
               std::uint64_t errors = 0) {
  LatencyRow made;
  made.name = std::move(name);
  made.latency.add(latency_ns, calls);
  made.errors = errors;
  return made;
}

LatencyTable sample_table() {
  LatencyTable table;
  table.rows = {row("read", 100, 50, 3), row("futex", 90'000, 2), row("openat", 1'000, 20, 9),
                row("exit_group", 0, 0)};
  table.rows.back().unreturned = 1;
  return table;
}

std::string order(LatencyTable table, const std::string& column, std::size_t top = 0) {
  sort_rows(table, column, top);
  std::string names;
  for (const LatencyRow& sorted : table.rows) names += sorted.name + " ";
  return names;
}

TEST(SortRows, KnowsEveryColumn) {
  EXPECT_EQ(order(sample_table(), "total"), "futex openat read exit_group ");
  EXPECT_EQ(order(sample_table(), "calls"), "read openat futex exit_group ");
  EXPECT_EQ(order(sample_table(), "errors"), "openat read exit_group futex ");
  EXPECT_EQ(order(sample_table(), "name"), "exit_group futex openat read ");
  for (const char* column : {"avg", "p50", "p95", "p99", "max"})
    EXPECT_EQ(order(sample_table(), column), "futex openat read exit_group ") << column;
}

TEST(SortRows, KeepsTheTopRows) {
  EXPECT_EQ(order(sample_table(), "total", 2), "futex openat ");
  EXPECT_EQ(order(sample_table(), "total", 100), "futex openat read exit_group ");
  EXPECT_EQ(order(LatencyTable{}, "total", 3), "");
}

TEST(SortRows, BreaksTiesByNameThenGroup) {
  LatencyTable table;
  table.rows = {row("read", 10, 1), row("read", 10, 1), row("close", 10, 1)};
  table.rows[0].thread = ThreadKey{20, "b"};
  table.rows[1].thread = ThreadKey{10, "a"};
  sort_rows(table, "total", 0);
  EXPECT_EQ(table.rows[0].name, "close");
  EXPECT_EQ(table.rows[1].thread->tid, 10u);
  EXPECT_EQ(table.rows[2].thread->tid, 20u);
  EXPECT_EQ(table.rows[2].latency.count(), 1u);
}

TEST(SortRows, SuggestsTheColumnMeant) {
  LatencyTable table = sample_table();
  try {
    sort_rows(table, "p90", 1);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "cannot sort by 'p90': no such column");
    EXPECT_EQ(
        error.hint(),
        "did you mean 'p50'? sort by total, calls, count, errors, avg, p50, p95, p99, max, name");
    EXPECT_EQ(error.exit_status(), 2);
  }
  EXPECT_EQ(table.rows.size(), 4u) << "a refused sort leaves the table alone";
  EXPECT_THROW(sort_rows(table, "", 0), Error);
}

}  // namespace
}  // namespace overdue

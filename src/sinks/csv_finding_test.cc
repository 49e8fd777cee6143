// A finding as a row of CSV.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/text.h"
#include "sinks/finding_fixture.h"

namespace overdue {
namespace {

/// The cells of a line without quoted commas.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

std::map<std::string, std::string> row_of(const Finding& finding) {
  const std::string text = written("csv", finding, many);
  const auto lines = split(text, '\n');
  const std::vector<std::string> names = cells_of(lines[0]), cells = cells_of(lines[1]);
  EXPECT_EQ(names.size(), cells.size()) << text;
  std::map<std::string, std::string> row;
  for (std::size_t i = 0; i < std::min(names.size(), cells.size()); ++i) row[names[i]] = cells[i];
  return row;
}

TEST(CsvFinding, HasThePartsTheWaitAndItsWaker) {
  auto row = row_of(late_open());
  EXPECT_EQ(row["type"], "stall");
  EXPECT_EQ(row["name"], "openat");
  EXPECT_EQ(row["args"], R"(dirfd=AT_FDCWD, pathname=/x)") << "with its quotes doubled in the file";
  EXPECT_EQ(row["tid"], "5786");
  EXPECT_EQ(row["ret"], "7");
  EXPECT_EQ(row["latency_ns"], "2310000000");
  EXPECT_EQ(row["uninterruptible_ns"], "2290000000");
  EXPECT_EQ(row["runqueue_ns"], "12000000");
  EXPECT_EQ(row["waited_in"], "ext4_create;jbd2_log_wait_commit");
  EXPECT_EQ(row["waker"], "jbd2/vda-8[203]");
  EXPECT_EQ(row["called_from"], "_start;__libc_start_call_main;main;create_files;openat");
}

TEST(CsvFinding, LeavesEmptyWhatIsNotKnown) {
  Finding finding = late_open();
  finding.breakdown.reset();
  finding.result.reset();
  finding.user_stack.reset();
  finding.places.clear();
  auto row = row_of(finding);
  for (const char* const name : {"oncpu_ns", "ret", "called_from", "waited_in", "waker", "like"})
    EXPECT_EQ(row[name], "") << name;
}

TEST(CsvFinding, KeepsAHostileNameInItsCell) {
  Finding finding = late_open();
  finding.thread.comm = "=1+1,\"\n\x1b[31m";
  const std::string text = written("csv", finding, many);
  for (const char c : text) ASSERT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f)) << text;
  const auto lines = split(text, '\n');
  EXPECT_EQ(cells_of(lines[1]).size(), cells_of(lines[0]).size());
}

}  // namespace
}  // namespace overdue

#include "report/why/blame.h"

#include <gtest/gtest.h>

namespace overdue {
namespace {

constexpr std::uint64_t ms = 1'000'000;

Finding open_write(std::uint64_t number, bool is_older) {
  Finding finding;
  finding.type = "hang";
  finding.number = number;
  finding.span = "syscall";
  finding.name = "write";
  finding.thread = {.pid = 10, .tid = 5, .comm = "writer"};
  finding.time = KernelTime(std::chrono::milliseconds(1'000));
  finding.latency_ns = 1'000 * ms;
  finding.is_older = is_older;
  return finding;
}

TEST(BlameTable, AThreadThatIsWokenInAnOpenCallStillWaits) {
  const KernelTime end(std::chrono::milliseconds(3'000));
  const auto total = [&](bool is_older, auto&& then) {
    BlameTable table;
    table.add(open_write(1, is_older), {});
    then(table);
    table.finish(end, {{5, 100 * ms}});
    const auto causes = table.blocked(WhySampling()).causes;
    return causes.empty() ? 0 : causes[0].total_ns / ms;
  };
  EXPECT_EQ(total(false, [](BlameTable&) {}), 3'000u);
  EXPECT_EQ(total(true, [](BlameTable&) {}), 1'000u) << "it may have ended";
  EXPECT_EQ(total(false, [](BlameTable& table) { table.end_call(5); }), 0u) << "an estimate has it";
}

TEST(BlameTable, ALaterCallShowsThatOneFromBeforeTheSessionHasEnded) {
  Finding later = open_write(2, false);
  later.type = "stall";
  later.time += std::chrono::milliseconds(1'500);
  BlameTable table;
  table.add(open_write(1, true), {});
  table.add(later, {});
  table.finish(KernelTime(std::chrono::milliseconds(3'000)), {{5, 3'000 * ms}});
  const auto causes = table.blocked(WhySampling()).causes;
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].total_ns, 2'000 * ms);
}

TEST(BlameTable, ACallFromBeforeTheSessionThatEndsCountsOnce) {
  Finding end = open_write(2, false);
  end.type = "stall";
  end.time += std::chrono::milliseconds(500);
  end.latency_ns = 1'500 * ms;
  BlameTable table;
  table.add(open_write(1, true), {});
  table.add(end, {});
  table.finish(KernelTime(std::chrono::milliseconds(3'000)), {{5, 3'000 * ms}});
  const auto causes = table.blocked(WhySampling()).causes;
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].total_ns, 1'500 * ms);
}

TEST(BlameTable, AnOpenCallOfAStoppedThreadIsAStop) {
  Finding finding = open_write(1, true);
  finding.kernel_stack = {{.name = "do_signal_stop", .module = "[kernel]", .is_kernel = true}};
  BlameTable table;
  table.add(finding, {});
  table.finish(KernelTime(std::chrono::milliseconds(3'000)), {{5, 3'000 * ms}});
  const auto blocked = table.blocked(WhySampling());
  ASSERT_EQ(blocked.causes.size(), 1u);
  EXPECT_EQ(blocked.causes[0].cause, "stopped, and not continued");
  EXPECT_EQ(blocked.stopped_ns, 3'000 * ms);
}

}  // namespace
}  // namespace overdue

#include "report/why/blame.h"

#include <gtest/gtest.h>

namespace overdue::blame_open_calls_test {
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

/// The late time of a thread, in ms, of whose calls one was open when the session began, a second
/// ago. A call ends `after_ms` later, having lasted `lasted_ms`; the session ends at three seconds.
std::uint64_t late_ms_if_a_call_ends(std::uint64_t after_ms, std::uint64_t lasted_ms) {
  Finding end = open_write(2, false);
  end.type = "stall";
  end.time += Duration(after_ms * ms);
  end.latency_ns = lasted_ms * ms;
  BlameTable table;
  table.add(open_write(1, true), {});
  table.add(end, {});
  table.finish(KernelTime(std::chrono::milliseconds(3'000)), {{5, 3'000 * ms}});
  std::uint64_t late_ns = 0;
  for (const WhyCause& cause : table.blocked(WhySampling()).causes) late_ns += cause.total_ns;
  return late_ns / ms;
}

TEST(BlameTable, ACallFromBeforeTheSessionEndsOnceAndForAll) {
  EXPECT_EQ(late_ms_if_a_call_ends(500, 1'500), 1'500u) << "the same call";
  EXPECT_EQ(late_ms_if_a_call_ends(1'500, 1'000), 2'000u) << "a later one: the first has ended";
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

TEST(BlameTable, AnOpenCallJoinsThoseThatHaveEnded) {
  BlameTable table;
  Finding connect;
  connect.span = "tcp_connect";
  connect.name = connect.title = "10.0.0.1:80";
  connect.thread = {1, 1, "client"};
  connect.latency_ns = 1000 * ms;
  table.add(connect, {});
  connect.type = "hang";
  connect.number = 2;
  connect.thread.tid = 2;
  connect.time = KernelTime(Duration(3000 * ms));
  table.add(connect, {});
  table.finish(KernelTime(Duration(3000 * ms)), {{2, 1000 * ms}});
  const auto causes = table.blocked(WhySampling()).causes;
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, why_blocked);
  EXPECT_EQ(causes[0].count, 2u);
  EXPECT_EQ(causes[0].total_ns, 2000 * ms);
}

}  // namespace
}  // namespace overdue::blame_open_calls_test

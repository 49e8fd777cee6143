// Headers as kernels print them.
#include <gtest/gtest.h>

#include "analysis/latency_header.h"

namespace overdue {
namespace {

/// From the kernel's documentation.
constexpr std::string_view irqsoff = R"(# tracer: irqsoff
#
# irqsoff latency trace v1.1.5 on 3.8.0-test+
# --------------------------------------------------------------------
# latency: 259 us, #4/9, CPU#2 | (M:preempt VP:0, KP:0, SP:0 HP:0 #P:4)
#    -----------------
#    | task: ps-6143 (uid:1000 nice:-5 policy:1 rt_prio:7)
#    -----------------
#  => started at: __lock_task_sighand
#
      ps-6143    2d...    0us!: trace_hardirqs_off <-__lock_task_sighand
)";

TEST(LatencyHeader, SaysWhatTheKernelDid) {
  const auto window = parse_latency_trace(irqsoff);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->tracer, "irqsoff");
  EXPECT_EQ(window->latency_ns, 259'000u);
  EXPECT_EQ(window->lost_events, 5u);
  EXPECT_EQ(window->cpu, 2u);
  EXPECT_EQ(window->preemption, "preempt");
  EXPECT_EQ(window->thread.comm, "ps");
  EXPECT_EQ(window->thread.tid, 6143u);
  EXPECT_EQ(window->uid, 1000u);
  EXPECT_EQ(window->nice, -5);
  EXPECT_EQ(window->policy, 1u);
  EXPECT_EQ(window->rt_priority, 7u);
  EXPECT_EQ(window->kernel_text, irqsoff);
}

TEST(LatencyHeader, NamesMayHaveAnythingInThem) {
  std::string text(irqsoff);
  text.replace(text.find("ps-6143 (uid"), 7, "a-b (uid:3)-12");
  const auto window = parse_latency_trace(text);
  ASSERT_TRUE(window);
  EXPECT_EQ(window->thread.comm, "a-b (uid:3)");
  EXPECT_EQ(window->thread.tid, 12u);
  EXPECT_EQ(window->uid, 1000u);
}

TEST(LatencyHeader, NothingIsNoWindow) {
  EXPECT_FALSE(parse_latency_trace(""));
  EXPECT_FALSE(parse_latency_trace("# tracer: wakeup\n#\n# WARNING: FUNCTION TRACING\n"));
  EXPECT_FALSE(parse_latency_trace("# tracer: nop\n# latency: 3 us, #1/1, CPU#0 |\n"));
  EXPECT_FALSE(parse_latency_trace("# tracer: wakeup\n# latency: x us\n"));
  EXPECT_FALSE(parse_latency_trace("  # latency: 3 us"));
  EXPECT_TRUE(
      parse_latency_trace("# tracer: wakeup\n# latency: 3 us\n#    | task: \n# | task: -(uid:"));
}

}  // namespace
}  // namespace overdue

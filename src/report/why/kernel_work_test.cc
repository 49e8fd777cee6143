#include <gtest/gtest.h>

#include "report/why/figures_fixture.h"

namespace overdue::figures_test {
namespace {

TEST(KernelWorkFigures, WorkOfTheKernelForAThreadIsACauseOfItsOwn) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "cache"));
  session.threads[0].oncpu_ns = 800 * ms;
  const Stack user = {{.name = "refill", .module = "/bin/app"}};
  const Stack fault = {{.name = "clear_page", .module = "[kernel]", .is_kernel = true},
                       {.name = "exc_page_fault", .module = "[kernel]", .is_kernel = true}};
  for (int i = 0; i < 60; ++i) session.cpu.add(10, "cache", fault, user);
  for (int i = 0; i < 20; ++i) session.cpu.add(10, "cache", {}, user);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 2u);
  EXPECT_EQ(all.causes[0].cause, "page faults, on the CPU: 100 % in refill");
  EXPECT_EQ(all.causes[0].total_ns, 600 * ms);
  EXPECT_EQ(all.causes[1].total_ns, 200 * ms) << all.causes[1].cause;
}

TEST(KernelWorkFigures, TimeThatInterruptsTakeIsNotTheProgramsWork) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "encoder"));
  session.threads[0].oncpu_ns = 800 * ms;
  const Stack user = {{.name = "encode", .module = "/bin/app"}};
  const Stack packets = {{.name = "net_rx_action", .module = "[kernel]", .is_kernel = true},
                         {.name = "__irq_exit_rcu", .module = "[kernel]", .is_kernel = true}};
  for (int i = 0; i < 30; ++i) session.cpu.add(10, "encoder", packets, user);
  for (int i = 0; i < 50; ++i) session.cpu.add(10, "encoder", {}, user);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 2u);
  EXPECT_EQ(all.causes[0].total_ns, 500 * ms) << all.causes[0].cause;
  EXPECT_EQ(all.causes[1].cause, "interrupts, on the CPU: 100 % in softirq NET_RX");
  EXPECT_EQ(all.causes[1].total_ns, 300 * ms);
  EXPECT_TRUE(all.causes[1].next.starts_with("overdue spans --span softirq")) << all.causes[1].next;
  ASSERT_EQ(all.oncpu.size(), 2u);
  EXPECT_EQ(all.oncpu[0].function, "encode");
  EXPECT_EQ(all.oncpu[0].samples, 50u);
}

}  // namespace
}  // namespace overdue::figures_test

#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "report/why/figures_fixture.h"

namespace overdue::figures_test {
namespace {

Stack kernel_stack(const char* inner, const char* outer) {
  return {{.name = inner, .module = "[kernel]", .is_kernel = true},
          {.name = outer, .module = "[kernel]", .is_kernel = true}};
}

/// A thread that has 10 ms of CPU time for each of 80 samples in `function`: `in_kernel` with the
/// stack `kernel`, the others without one.
WhyFigures sampled(std::string function, const Stack& kernel, int in_kernel) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].oncpu_ns = 800 * ms;
  const Stack user = {{.name = std::move(function), .module = "/bin/app"}};
  for (int i = 0; i < 80; ++i) session.cpu.add(10, "app", i < in_kernel ? kernel : Stack{}, user);
  return session.figures();
}

TEST(KernelWorkFigures, WorkOfTheKernelForAThreadIsACauseOfItsOwn) {
  const WhyFigures all = sampled("refill", kernel_stack("clear_page", "exc_page_fault"), 60);
  ASSERT_EQ(all.causes.size(), 2u);
  EXPECT_EQ(all.causes[0].cause, "page faults, on the CPU: 100 % in refill");
  EXPECT_EQ(all.causes[0].total_ns, 600 * ms);
  EXPECT_EQ(all.causes[1].total_ns, 200 * ms) << all.causes[1].cause;
}

TEST(KernelWorkFigures, TimeThatInterruptsTakeIsNotTheProgramsWork) {
  const WhyFigures all = sampled("encode", kernel_stack("net_rx_action", "__irq_exit_rcu"), 30);
  ASSERT_EQ(all.causes.size(), 2u);
  EXPECT_EQ(all.causes[0].total_ns, 500 * ms) << all.causes[0].cause;
  EXPECT_EQ(all.causes[1].cause, "interrupts, on the CPU: 100 % in softirq NET_RX");
  EXPECT_EQ(all.causes[1].total_ns, 300 * ms);
  EXPECT_TRUE(all.causes[1].next.starts_with("overdue spans --span softirq")) << all.causes[1].next;
  ASSERT_EQ(all.oncpu.size(), 2u);
  EXPECT_EQ(all.oncpu[0].function, "encode");
  EXPECT_EQ(all.oncpu[0].samples, 50u);
}

TEST(KernelWorkFigures, AProcessThatWasForkedInAHandlerDoesItsOwnWork) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].oncpu_ns = 800 * ms;
  const Stack user = {{.name = "sort", .module = "/bin/app"},
                      {.name = "__restore_rt", .module = "/lib/libc.so.6"},
                      {.name = "serve", .module = "/bin/app"}};
  for (int i = 0; i < 80; ++i) session.cpu.add(10, "app", {}, user);
  ASSERT_EQ(session.figures().causes.size(), 1u);
  EXPECT_EQ(session.figures().causes[0].cause, "on the CPU: 100 % in sort ← serve");
  session.call("rt_sigreturn", 40, 1'000);
  EXPECT_TRUE(session.figures().causes[0].cause.starts_with("signals, on the CPU"))
      << session.figures().causes[0].cause;
}

}  // namespace
}  // namespace overdue::figures_test

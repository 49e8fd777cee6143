// The ledger adds up, and waits are recorded with who ended them.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include "probes/sched/fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

u64 sum_of(const ledger_parts& parts) {
  return parts.oncpu_ns + parts.runqueue_ns + parts.preempted_ns + parts.sleeping_ns +
         parts.uninterruptible_ns + parts.irq_ns + parts.softirq_ns;
}

class Stalls : public KernelTest {};

TEST_F(Stalls, OfASleepAreExplainedByTheLedgerAndTheWait) {
  Child child([](Child&) {
    for (int i = 0; i < 5; ++i) usleep(20'000);
  });
  Explaining measuring(child, 10ms);
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  ASSERT_EQ(seen.calls.size(), 5u);
  ASSERT_EQ(seen.spans.size(), 5u);
  for (const SeenSpan& span : seen.spans) {
    EXPECT_EQ(span.fixed.span, SPAN_SYSCALL);
    EXPECT_EQ(span.fixed.subject, u64{SYS_clock_nanosleep});
    EXPECT_GE(span.fixed.latency_ns, 20'000'000u);
    ASSERT_TRUE(span.fixed.flags & SPAN_HAS_LEDGER);
    EXPECT_NEAR(static_cast<double>(sum_of(span.fixed.ledger)),
                static_cast<double>(span.fixed.latency_ns),
                0.001 * static_cast<double>(span.fixed.latency_ns));
    EXPECT_GT(span.fixed.ledger.sleeping_ns, 19'000'000u);
    EXPECT_TRUE(span.fixed.flags & SPAN_HAS_USER_STACK);
    EXPECT_GT(span.fixed.user_bytes, USER_RED_ZONE);
    const SeenWait* wait = seen.wait_within(span);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->fixed.state, u32{WAIT_SLEEPING});
    EXPECT_GT(wait->stack.size(), 3u);
    EXPECT_TRUE(wait->fixed.flags & WAIT_OF_MEMBER);
    EXPECT_EQ(wait->fixed.waker_context, u16{WAKER_VECTOR});
    EXPECT_EQ(wait->fixed.waker_number, u16{VECTOR_LOCAL_TIMER});
    EXPECT_TRUE(seen.wake_of(*wait)) << "the waker's stack";
  }
}

}  // namespace
}  // namespace overdue

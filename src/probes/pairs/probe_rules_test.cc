// What counts as a span: alternatives, repeated begins, dropped spans, and whose a span is.
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "probes/pairs/pairs_fixture.h"

namespace overdue {
namespace {

class PairRulesTest : public KernelTest {};

constexpr useconds_t pause_us = 2'000;
constexpr u64 pause_ns = 2'000'000;

// Calls that no library makes by itself.
void begin_call() {
  syscall(SYS_getsid, 0);
}
void end_call() {
  syscall(SYS_getpgid, 0);
}
void drop_call() {
  syscall(SYS_getpriority, 0, 0);
}
const std::string begin_to_end = "begin:syscalls:sys_enter_getsid,end:syscalls:sys_enter_getpgid,";

TEST_F(PairRulesTest, EachAlternativeBeginsAndEnds) {
  Child child([](Child& self) {
    for (int i = 0; i < 3; ++i) begin_call();
    for (int i = 0; i < 2; ++i) end_call();
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"x=begin:syscalls:sys_enter_getsid | syscalls:sys_enter_getpgid,"
                         "end:syscalls:sys_exit_getsid | syscalls:sys_exit_getpgid,key:tid"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("x").size(), 5u);
}

TEST_F(PairRulesTest, OfRepeatedBeginsTheFirstOrTheLastCounts) {
  Child child([](Child& self) {
    begin_call();
    usleep(pause_us);
    begin_call();
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child), {"first=" + begin_to_end + "key:tid,repeat:first",
                                           "last=" + begin_to_end + "key:tid"});
  measured.arm();
  child.run_step();
  measured.finish();
  ASSERT_EQ(measured.ended("first").size(), 1u);
  ASSERT_EQ(measured.ended("last").size(), 1u);
  EXPECT_GE(measured.ended("first")[0].latency_ns, measured.ended("last")[0].latency_ns + pause_ns);
  EXPECT_EQ(measured.probe->counts(0).begins, 1u);
  EXPECT_EQ(measured.probe->counts(0).replaced, 0u);
  EXPECT_EQ(measured.probe->counts(1).replaced, 1u);
}

TEST_F(PairRulesTest, ADroppedSpanIsNone) {
  Child child([](Child& self) {
    drop_call();
    begin_call();
    drop_call();
    end_call();
    begin_call();
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"x=" + begin_to_end + "key:tid,drop:syscalls:sys_enter_getpriority",
                         "y=" + begin_to_end +
                             "key:tid,drop:syscalls:sys_enter_getpriority,"
                             "drop-filter:which == 1"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("x").size(), 1u);
  EXPECT_EQ(measured.probe->counts(0).dropped, 1u) << "the first dropped nothing";
  EXPECT_EQ(measured.ended("y").size(), 2u) << "the filter lets none drop";
  EXPECT_EQ(measured.open().size(), 0u);
}

TEST_F(PairRulesTest, ASpanMayLastUntilItsLastEnd) {
  Child child([](Child& self) {
    end_call();  // of no span
    begin_call();
    end_call();
    usleep(pause_us);
    end_call();
    usleep(10 * pause_us);
    begin_call();  // shows that the end before was the last
    usleep(pause_us);
    begin_call();  // the span has had no end yet
    end_call();
    drop_call();
    begin_call();
    drop_call();
    end_call();
    begin_call();
    end_call();
    self.step();
  });
  const std::string last = begin_to_end + "key:tid,repeat:first,end-repeat:last,";
  PairsSession measured(rules_for(child), {"x=" + last +
                                           "drop:syscalls:sys_enter_getpriority,"
                                           "drop-filter:which == 1,"
                                           "drop:syscalls:sys_exit_getpriority"});
  measured.arm();
  child.run_step();
  EXPECT_EQ(measured.probe->counts(0).ends, 2u);
  EXPECT_EQ(measured.probe->counts(0).dropped, 1u);
  measured.finish();
  const auto spans = measured.ended("x");
  ASSERT_EQ(spans.size(), 3u) << "the last one ends with the session";
  EXPECT_GE(spans[0].latency_ns, pause_ns);
  EXPECT_GE(spans[1].header.time_ns, spans[0].header.time_ns + 11 * pause_ns)
      << "time after the last end is not of the span";
  EXPECT_GE(spans[1].latency_ns, pause_ns);
  for (const span_record& span : spans) {
    EXPECT_EQ(span.header.tid, child.pid());
    EXPECT_EQ(span.begin_tid, child.pid());
    EXPECT_EQ(span.header.size, sizeof(span_record)) << "no user stack";
  }
  EXPECT_EQ(measured.open().size(), 0u);
  EXPECT_EQ(measured.session.receipt().events, 3u);
}

TEST_F(PairRulesTest, ASpanWithoutAnEndIsOpen) {
  Child child([](Child& self) {
    begin_call();
    self.step();
  });
  PairsSession measured(rules_for(child), {"x=" + begin_to_end + "key:tid,end-repeat:last"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("x").size(), 0u);
  EXPECT_EQ(measured.open().size(), 1u);
}

TEST_F(PairRulesTest, ASpanMayBelongToTheThreadThatEndsIt) {
  Child child([](Child& self) {
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child), {"x=" + begin_to_end + "key:1,owner:end"});
  measured.arm();
  begin_call();  // this process is not of the target
  end_call();
  EXPECT_EQ(measured.probe->counts(0).ends, 0u);
  begin_call();
  child.run_step();
  measured.finish();
  const auto spans = measured.ended("x");
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].begin_tid, child.pid());
  EXPECT_EQ(spans[0].header.tid, child.pid());
  EXPECT_FALSE(spans[0].flags & SPAN_HAS_LEDGER) << "the thread was not in the span throughout";
  EXPECT_EQ(measured.probe->counts(0).unmatched, 0u);
}

TEST_F(PairRulesTest, EndsOfOthersMayBeNone) {
  Child child([](Child& self) {
    begin_call();
    self.step();
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child), {"inside=" + begin_to_end + "key:1,owner:both",
                                           "any=" + begin_to_end + "key:1"});
  measured.arm();
  child.run_step();
  end_call();  // this process is not of the target
  EXPECT_EQ(measured.probe->counts(0).ends, 0u);
  EXPECT_EQ(measured.probe->counts(1).ends, 1u);
  child.run_step();
  EXPECT_EQ(measured.probe->counts(0).ends, 1u);
  measured.finish();
}

TEST_F(PairRulesTest, ArgumentsOfACallAreStillKnownAtItsEnd) {
  Child child([](Child& self) {
    // On the stack: memory that was touched can be read.
    char text[] = "GET /";
    syscall(SYS_access, text, 7);
    text[0] = 'P';
    syscall(SYS_access, text, 7);
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"x=begin:syscalls:sys_exit_access,end:syscalls:sys_enter_getpgid,"
                         "key:user_regs->si,end-key:7,"
                         "filter:read_user_u32(user_regs->di) == 0x20544547"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.probe->counts(0).begins, 1u);
  EXPECT_EQ(measured.ended("x").size(), 1u);
}

TEST_F(PairRulesTest, AnAddressIsReadAsAStructOfTheKernel) {
  Child child([](Child& self) {
    begin_call();
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"x=" + begin_to_end + "key:as_task_struct(current + 0)->tgid"});
  measured.arm();
  child.run_step();
  measured.finish();
  ASSERT_EQ(measured.ended("x").size(), 1u);
  EXPECT_EQ(measured.ended("x")[0].subject, child.pid());
}

TEST_F(PairRulesTest, AFilterThatIsKnownToFailIsNoUnreadEvent) {
  Child child([](Child& self) {
    begin_call();
    end_call();
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"x=" + begin_to_end + "key:read_u64(8),end-key:tid,filter:pid == 0"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.probe->counts(0).unread, 0u);
}

}  // namespace
}  // namespace overdue

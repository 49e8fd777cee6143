#include "analysis/stack_join.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "bpf/sched.h"
#include "bpf/user_stack.h"

namespace overdue {
namespace {

constexpr Schema owing_schema{
    .id = RECORD_SCHED_WAIT, .name = "wait", .size = sizeof(sched_wait), .fields = {}, .help = {}};
constexpr Schema deferred_schema{.id = RECORD_WAIT_STACK,
                                 .name = "wait_stack",
                                 .size = sizeof(wait_stack),
                                 .fields = {},
                                 .help = {}};
constexpr Schema other_schema{
    .id = RECORD_SPAN, .name = "span", .size = sizeof(span_record), .fields = {}, .help = {}};

constexpr u64 one_second = 1'000'000'000;

/// Collects the output: "kind tid" for each record, with "+" and the time of its stack's copy.
class StackJoinTest : public testing::Test {
 protected:
  void wait(u32 tid, u64 in_ns, bool deferred = true) {
    sched_wait fixed{};
    fixed.header.time_ns = in_ns;
    fixed.header.tid = tid;
    fixed.flags = deferred ? WAIT_OF_MEMBER | WAIT_STACK_DEFERRED : WAIT_OF_MEMBER;
    join_.record({&owing_schema, std::as_bytes(std::span(&fixed, 1))});
  }
  void stack(u32 tid, u64 since_ns, u64 at_ns) {
    wait_stack fixed{};
    fixed.header.time_ns = at_ns;
    fixed.header.tid = tid;
    fixed.since_ns = since_ns;
    join_.record({&deferred_schema, std::as_bytes(std::span(&fixed, 1))});
  }
  void span(u32 tid, u64 at_ns) {
    span_record fixed{};
    fixed.header.time_ns = at_ns;
    fixed.header.tid = tid;
    join_.record({&other_schema, std::as_bytes(std::span(&fixed, 1))});
  }
  std::string taken() { return std::exchange(taken_, {}); }

  std::string taken_;
  StackJoin join_{[this](const Record& record, const Record* stack) {
    taken_ += std::string(record.schema->name) + " " + std::to_string(record.header().tid);
    if (stack) taken_ += "+" + std::to_string(stack->header().time_ns);
    taken_ += ";";
  }};
};

TEST_F(StackJoinTest, NothingIsKeptWithoutADeferredStack) {
  wait(1, 100, false);
  span(2, 101);
  EXPECT_EQ(taken(), "wait 1;span 2;");
}

TEST_F(StackJoinTest, AWaitGoesOnWithItsStackAndWhatIsBehindItKeepsItsPlace) {
  wait(1, 100);
  span(2, 110);
  wait(3, 120, false);
  EXPECT_EQ(taken(), "");
  stack(1, 100, 130);
  EXPECT_EQ(taken(), "wait 1+130;span 2;wait 3;");
}

TEST_F(StackJoinTest, OneStackIsOfAllWaitsSinceTheFirst) {
  wait(1, 100);
  wait(2, 105);
  wait(1, 110);
  stack(1, 100, 120);
  EXPECT_EQ(taken(), "wait 1+120;");
  wait(1, 130);  // the thread was back in its program before
  stack(2, 105, 135);
  EXPECT_EQ(taken(), "wait 2+135;wait 1+120;");
  stack(1, 130, 140);
  EXPECT_EQ(taken(), "wait 1+140;");
}

TEST_F(StackJoinTest, StacksOfOtherTimesAndThreadsAreNotTaken) {
  wait(1, 100);
  stack(2, 100, 130);
  stack(1, 101, 130);
  EXPECT_EQ(taken(), "");
  join_.finish();
  EXPECT_EQ(taken(), "wait 1;");
}

TEST_F(StackJoinTest, AStackThatIsReadBeforeItsWaitIsNotLost) {
  stack(1, 100, 130);
  wait(1, 100);
  EXPECT_EQ(taken(), "wait 1+130;");
}

TEST_F(StackJoinTest, AWaitWhoseThreadDoesNotPayGoesOnWithoutItsStack) {
  wait(1, 100);
  span(2, 200);
  span(3, 100 + one_second);
  EXPECT_EQ(taken(), "");
  span(4, 101 + one_second);
  EXPECT_EQ(taken(), "wait 1;span 2;span 3;span 4;");
  wait(1, 2 * one_second);
  join_.advance(3 * one_second);
  EXPECT_EQ(taken(), "");
  join_.advance(3 * one_second + 1);
  EXPECT_EQ(taken(), "wait 1;");
}

TEST_F(StackJoinTest, RecordsKeptAreBounded) {
  wait(1, 100);
  for (std::size_t i = 1; i < StackJoin::max_kept; ++i) span(2, 101);
  EXPECT_EQ(taken(), "");
  span(3, 102);
  EXPECT_TRUE(taken().ends_with("span 2;span 3;"));
}

}  // namespace
}  // namespace overdue

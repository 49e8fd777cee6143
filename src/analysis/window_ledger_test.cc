#include "analysis/window_ledger.h"

#include <gtest/gtest.h>

#include <deque>

#include "analysis/records_fixture.h"

namespace overdue {
namespace {

constexpr u64 ms = 1'000'000;

/// A thread's life from time 0 on, and the records of that life.
class Life {
 public:
  Life& run(u64 ns) {
    now_ += ns;
    sums_.oncpu_ns += ns;
    return *this;
  }
  /// Adds a wait that is too short for a record.
  Life& nap(u64 ns) {
    now_ += ns;
    sums_.sleeping_ns += ns;
    return *this;
  }
  Life& sleep(u64 ns, u64 ready_ns = 0, std::vector<u64> stack = {1}) {
    sums_.sleeping_ns += ns;
    sums_.runqueue_ns += ready_ns;
    return wait(wait_of(9, now_, now_ + ns, now_ + ns + ready_ns), std::move(stack));
  }
  Life& be_preempted(u64 ns) {
    sums_.preempted_ns += ns;
    return wait(wait_of(9, now_, 0, now_ + ns), {2});
  }
  RawLedger between(u64 begin_ns, u64 arrived_ns = 0) {
    RawWaker waker;
    waker.header.time_ns = now_;
    waker.sums = sums_;
    waker.ran_since_ns = arrived_ns;
    return ledger_between(waits_, wakes_, waker, begin_ns, now_);
  }
  /// A span from `begin_ns` until now, which has the thread's sums at its end.
  RawStall span_from(u64 begin_ns) {
    RawStall stall;
    stall.span.header.time_ns = now_;
    stall.span.latency_ns = now_ - begin_ns;
    stall.span.ledger = sums_;
    stall.span.flags = SPAN_HAS_SUMS;
    for (const RawWait& wait : waits_)
      if (wait.in_ns() > begin_ns) stall.waits.push_back(&wait);
    find_parts(stall, waits_, wakes_);
    return stall;
  }
  Life& wake() {
    wakes_.push_back({now_, sums_, 0});
    return *this;
  }
  u64 now() const { return now_; }

 private:
  Life& wait(sched_wait fixed, std::vector<u64> stack) {
    fixed.sums = sums_;
    RawWait one;
    one.fixed = fixed;
    one.stack = std::move(stack);
    now_ = fixed.header.time_ns;
    waits_.push_back(std::move(one));
    return *this;
  }

  u64 now_ = 0;
  ledger_parts sums_{};
  std::deque<RawWait> waits_;
  std::vector<RawSums> wakes_;
};

TEST(WindowLedger, AddsUpTheWaitsOfOnePlace) {
  Life life;
  life.run(5 * ms);
  for (int i = 0; i < 10; ++i) life.sleep(8 * ms).run(ms / 5);
  const RawLedger ledger = life.between(5 * ms, life.now() - ms / 5);
  EXPECT_EQ(ledger.parts.sleeping_ns, 80 * ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 2 * ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
  ASSERT_EQ(ledger.places.size(), 1u);
  EXPECT_EQ(ledger.places[0].count, 10u);
  EXPECT_EQ(ledger.places[0].ns, 80 * ms);
}

TEST(WindowLedger, KeepsPlacesApartAndTheLongestFirst) {
  Life life;
  life.run(ms).sleep(3 * ms, 0, {1}).run(ms).sleep(2 * ms, 0, {7}).run(ms).sleep(2 * ms, 0, {7});
  const RawLedger ledger = life.run(ms).between(ms, life.now() - ms);
  ASSERT_EQ(ledger.places.size(), 2u);
  EXPECT_EQ(ledger.places[0].ns, 4 * ms);
  EXPECT_EQ(ledger.places[0].longest->stack, std::vector<u64>{7});
  EXPECT_EQ(ledger.places[1].ns, 3 * ms);
}

TEST(WindowLedger, OfWhoComputedSaysThatItRan) {
  Life life;
  const RawLedger ledger = life.run(40 * ms).between(10 * ms, 1);
  EXPECT_EQ(ledger.parts.oncpu_ns, 30 * ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
  EXPECT_TRUE(ledger.places.empty());
}

TEST(WindowLedger, CutsAWaitAtTheBegin) {
  Life life;
  const RawLedger ledger = life.run(ms).sleep(10 * ms, 4 * ms).run(ms).between(6 * ms, 15 * ms);
  EXPECT_EQ(ledger.parts.sleeping_ns, 5 * ms);
  EXPECT_EQ(ledger.parts.runqueue_ns, 4 * ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
  ASSERT_EQ(ledger.places.size(), 1u);
  EXPECT_EQ(ledger.places[0].runqueue_ns, 4 * ms);
}

TEST(WindowLedger, HasShortWaitsThatLeftNoRecord) {
  Life life;
  life.run(ms).sleep(5 * ms);
  const u64 begin_ns = life.now();
  for (int i = 0; i < 10; ++i) life.nap(ms / 10).run(ms);
  const RawLedger ledger = life.between(begin_ns, life.now() - ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 10 * ms);
  EXPECT_EQ(ledger.parts.sleeping_ns, ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
  EXPECT_TRUE(ledger.places.empty());
}

TEST(WindowLedger, DoesNotGuessWhatCameBeforeTheBegin) {
  Life life;
  life.run(ms).sleep(5 * ms).run(4 * ms).nap(2 * ms).run(4 * ms);  // of 10 ms, 2 asleep
  const RawLedger ledger = life.between(life.now() - 5 * ms, life.now() - 4 * ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 4 * ms);  // since its arrival; the time before is unknown
  EXPECT_EQ(ledger.parts.sleeping_ns, 0u);
  EXPECT_EQ(ledger.unknown_ns, ms);
}

TEST(WindowLedger, TakesPartsInProportionWhereTheBeginIsNear) {
  Life life;
  life.run(ms).sleep(5 * ms).run(21 * ms).nap(ms);
  const RawLedger ledger = life.between(7 * ms, life.now());  // 22 ms without the first
  EXPECT_NEAR(static_cast<double>(ledger.parts.oncpu_ns), 20.0 * ms, 1.0 * ms);
  EXPECT_GT(ledger.parts.sleeping_ns, 0u);
  EXPECT_LE(ledger.unknown_ns, 10u);  // rounding
}

TEST(WindowLedger, GoesOnFromTheLastTimeThatItWokeAnother) {
  Life life;
  life.run(ms).nap(20 * ms).run(30 * ms).wake();
  const u64 begin_ns = life.now();
  const RawLedger ledger = life.nap(2 * ms).run(40 * ms).between(begin_ns, life.now() - ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 40 * ms);
  EXPECT_EQ(ledger.parts.sleeping_ns, 2 * ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
}

TEST(WindowLedger, SaysByWhatTheThreadWasKeptFromRunning) {
  Life life;
  const RawLedger ledger =
      life.run(3 * ms).be_preempted(15 * ms).run(2 * ms).between(2 * ms, 18 * ms);
  EXPECT_EQ(ledger.parts.preempted_ns, 15 * ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 3 * ms);
  EXPECT_EQ(ledger.unknown_ns, 0u);
}

TEST(WindowLedger, OfASpanWhoseThreadWaitedWhenItBegan) {
  Life life;
  const RawStall stall = life.run(1 * ms)
                             .sleep(20 * ms, 2 * ms)
                             .run(3 * ms)
                             .nap(1 * ms)
                             .run(1 * ms)
                             .span_from(15 * ms);
  const ledger_parts& parts = stall.span.ledger;
  EXPECT_EQ(parts.sleeping_ns, 7 * ms) << "6 ms of the wait, and the nap";
  EXPECT_EQ(parts.runqueue_ns, 2 * ms);
  EXPECT_EQ(parts.oncpu_ns, 4 * ms);
  EXPECT_EQ(parts.sleeping_ns + parts.runqueue_ns + parts.oncpu_ns, stall.span.latency_ns);
  EXPECT_EQ(stall.span.flags, SPAN_HAS_LEDGER);
  ASSERT_EQ(stall.places.size(), 1u);
  EXPECT_EQ(stall.places[0].ns, 8 * ms) << "the part within the span";
}

TEST(WindowLedger, WhatEndedBeforeTheWindowIsNoPartOfIt) {
  Life life;
  life.run(1 * ms).sleep(20 * ms).wake().run(2 * ms).wake().be_preempted(5 * ms).wake();
  const u64 begin_ns = life.now();
  const RawLedger ledger = life.run(3 * ms)
                               .wake()
                               .sleep(4 * ms, 1 * ms)
                               .run(1 * ms)
                               .between(begin_ns, life.now() - 1 * ms);
  EXPECT_EQ(ledger.parts.oncpu_ns, 4 * ms);
  EXPECT_EQ(ledger.parts.sleeping_ns, 4 * ms);
  EXPECT_EQ(ledger.parts.runqueue_ns, 1 * ms);
  EXPECT_EQ(ledger.parts.preempted_ns, 0u);
  EXPECT_EQ(ledger.unknown_ns, 0u);
  ASSERT_EQ(ledger.places.size(), 1u);
}

TEST(WindowLedger, IsUnknownWithoutRecords) {
  const RawLedger ledger = ledger_between({}, {}, RawWaker{}, 10 * ms, 30 * ms);
  EXPECT_EQ(ledger.unknown_ns, 20 * ms);
}

TEST(WindowLedger, AUserSpanWithoutSumsHasThePartsOfItsWaits) {
  for (const bool has_wait : {true, false}) {
    Fed fed;
    span_record seen{};
    fed.look = [&](const RawStall& stall) { seen = stall.span; };
    if (has_wait) fed.add(wait_of(7, 1000, 1900, 1950), {1});
    span_record span = span_of(7, 900, 2000);
    span.span = SPAN_PAIR;
    span.begin_tid = 7;
    span.flags = 0;
    fed.add(span);
    EXPECT_TRUE(seen.flags & SPAN_HAS_LEDGER);
    EXPECT_EQ(seen.ledger.sleeping_ns, has_wait ? 900u : 0u);
    EXPECT_EQ(seen.ledger.runqueue_ns, has_wait ? 50u : 0u);
    EXPECT_EQ(seen.ledger.oncpu_ns, 0u);
    span.begin_tid = 8;  // the time is not that of one thread
    fed.add(span);
    EXPECT_FALSE(seen.flags & SPAN_HAS_LEDGER);
  }
}

}  // namespace
}  // namespace overdue

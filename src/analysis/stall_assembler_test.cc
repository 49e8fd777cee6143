#include "analysis/stall_assembler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/records_fixture.h"
#include "base/text.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(StallAssembler, GivesASpanTheWaitsWithinIt) {
  Fed fed;
  std::vector<u64> outs;
  fed.look = [&](const RawStall& stall) {
    for (const RawWait* wait : stall.waits) outs.push_back(wait->out_ns());
    ASSERT_TRUE(stall.longest());
    EXPECT_EQ(stall.longest()->out_ns(), 1200u);
    EXPECT_FALSE(stall.waits_forgotten);
  };
  fed.add(wait_of(7, 500, 900, 1000));  // ended as it began
  fed.add(wait_of(7, 1100, 1150, 1160));
  fed.add(wait_of(8, 1100, 1900, 1950));  // another thread's
  fed.add(wait_of(7, 1200, 1300, 1310));
  fed.add(wait_of(7, 1400, 1410, 1900));  // longer, but in the run queue
  fed.add(wait_of(7, 1950, 0, 2000));     // preempted
  fed.add(span_of(7, 1000, 2000));
  EXPECT_EQ(fed.stalls, 1u);
  EXPECT_THAT(outs, ElementsAre(1100, 1200, 1400, 1950));
}

TEST(StallAssembler, TakesTheWakersRecordIfItIsOfThisWait) {
  Fed fed;
  std::vector<std::string> wakers;
  std::vector<std::size_t> frames;
  fed.look = [&](const RawStall& stall) {
    for (const RawWait* wait : stall.waits) {
      ASSERT_TRUE(wait->waker);
      wakers.emplace_back(fixed_text(wait->waker->header.comm));
      frames.push_back(wait->waker->stack.size());
    }
  };
  const auto wake = [](u64 at_ns) { return wake_of(9, 7, at_ns, "from wake"); };
  sched_wait without = wait_of(7, 1300, 1400, 1500, 9);
  std::memcpy(without.waker, "from wait", 9);
  fed.add(wake(1200), {1, 2, 3}).add(wait_of(7, 1100, 1200, 1250, 9));
  fed.add(wake(1399), {1, 2, 3}).add(without);
  fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(wakers, ElementsAre("from wake", "from wait"));
  EXPECT_THAT(frames, ElementsAre(3, 0));
}

TEST(StallAssembler, GivesASystemCallItsOwnRecord) {
  static constexpr Schema call_schema{.id = RECORD_SYSCALL_CALL,
                                      .name = "call",
                                      .size = sizeof(event_header),
                                      .fields = {},
                                      .help = ""};
  const auto call = [](u64 at_ns) {
    event_header header{};
    header.kind = RECORD_SYSCALL_CALL;
    header.tid = 7;
    header.time_ns = at_ns;
    std::vector<std::byte> bytes(sizeof header);
    std::memcpy(bytes.data(), &header, sizeof header);
    return bytes;
  };
  Fed fed;
  std::vector<bool> found;
  fed.look = [&](const RawStall& stall) { found.push_back(stall.call.has_value()); };
  fed.add(call_schema, call(2000)).add(span_of(7, 1000, 2000));
  fed.add(span_of(7, 2000, 3000));  // its call was lost
  EXPECT_THAT(found, ElementsAre(true, false));
}

/// The links of a chain in short: "9 waited 50", "9", "9 cut".
std::vector<std::string> said(const RawStall& stall) {
  std::vector<std::string> words;
  for (const RawLink& link : stall.chain) {
    std::string text = std::to_string(link.waker->header.tid);
    if (link.wait) text += " waited " + std::to_string(link.overlap_ns);
    if (link.runqueue_ns) text += ", ready " + std::to_string(link.runqueue_ns);
    if (link.is_cut) text += " cut";
    words.push_back(std::move(text));
  }
  return words;
}

struct Chains {
  Fed fed;
  std::vector<std::string> chain;
  explicit Chains(StallAssembler::Limits limits = {}) : fed(limits) {
    fed.look = [this](const RawStall& stall) { chain = said(stall); };
  }
};

TEST(StallAssembler, FollowsWakersToWhoRan) {
  Chains c;
  // 7 waits for 8, which waits for 9. 9 waited long before, and then ran.
  c.fed.add(wait_of(9, 100, 500, 505, 3));
  c.fed.add(wait_of(8, 900, 1700, 1800, 9));
  c.fed.add(wait_of(7, 1000, 1900, 1950, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 waited 800, ready 100", "9"));
}

TEST(StallAssembler, EndsChainsAtInterrupts) {
  Chains c;
  sched_wait in_softirq = wait_of(8, 900, 1700, 1800, 9);
  in_softirq.waker_context = WAKER_SOFTIRQ;
  c.fed.add(wait_of(9, 1000, 1700, 1710, 3));  // interrupted by chance
  c.fed.add(in_softirq);
  c.fed.add(wait_of(7, 1000, 1900, 1950, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 waited 800, ready 100", "9"));
}

TEST(StallAssembler, FollowsAnInterruptInAThreadsOwnCall) {
  Chains c;
  c.fed.assembler.ask_for_own_calls(
      [](const RawWaker& waker) { return waker.context == WAKER_SOFTIRQ && waker.number == 3; });
  sched_wait in_its_call = wait_of(7, 1000, 1900, 1950, 8);
  in_its_call.waker_context = WAKER_SOFTIRQ;
  in_its_call.waker_number = 3;
  sched_wait in_another = wait_of(8, 1000, 1700, 1800, 9);
  in_another.waker_context = WAKER_SOFTIRQ;
  in_another.waker_number = 4;
  c.fed.add(wait_of(9, 1000, 1600, 1650, 3)).add(in_another).add(in_its_call);
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 waited 800, ready 100", "9"));
}

TEST(StallAssembler, FollowsOnlyWhatCoversATenth) {
  Chains c;
  c.fed.add(wait_of(8, 1000, 1080, 1089, 9));
  c.fed.add(wait_of(7, 1000, 1900, 1950, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8"));
}

TEST(StallAssembler, CutsCircles) {
  Chains c;
  c.fed.add(wait_of(8, 1000, 1800, 1810, 7));
  c.fed.add(wait_of(7, 1000, 1900, 1950, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 waited 810, ready 10", "7 cut"));
}

TEST(StallAssembler, CutsCirclesOfOne) {
  Chains c;
  c.fed.add(wait_of(7, 1000, 1900, 1950, 7));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("7 cut"));
}

TEST(StallAssembler, CutsChainsAtTheirDepth) {
  Chains c({.depth = 3});
  for (u32 tid = 20; tid > 7; --tid) c.fed.add(wait_of(tid, 1000, 1900, 1910, tid + 1));
  c.fed.add(wait_of(7, 1000, 1900, 1910, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 waited 900", "9 waited 900", "10 cut"));
}

TEST(StallAssembler, SaysWhereAChainMayGoOnInWhatItForgot) {
  Chains c({.waits_of_a_thread = 1});
  c.fed.add(wait_of(8, 1000, 1700, 1710, 9));
  c.fed.add(wait_of(8, 1720, 1730, 1731, 9));
  c.fed.add(wait_of(7, 1000, 1900, 1950, 8));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, ElementsAre("8 cut"));
}

TEST(StallAssembler, HasNoChainOfPreemption) {
  Chains c;
  c.fed.add(wait_of(7, 1000, 0, 1950));
  c.fed.add(span_of(7, 1000, 2000));
  EXPECT_THAT(c.chain, IsEmpty());
}

TEST(StallAssembler, SaysThatAStallLacksWaits) {
  Fed fed({.waits_of_a_thread = 2});
  std::vector<bool> forgotten;
  fed.look = [&](const RawStall& stall) { forgotten.push_back(stall.waits_forgotten); };
  for (u64 at = 1000; at < 1500; at += 100) fed.add(wait_of(7, at, at + 50, at + 60));
  fed.add(span_of(7, 1290, 1600));  // begins after the dropped waits
  fed.add(span_of(7, 1200, 1600));
  EXPECT_THAT(forgotten, ElementsAre(false, true));
  EXPECT_EQ(fed.assembler.waits_forgotten(), 1u);
}

TEST(StallAssembler, BoundsTheWaitsOfAllThreads) {
  Fed fed({.waits = 10});
  std::vector<std::size_t> waits;
  fed.look = [&](const RawStall& stall) { waits.push_back(stall.waits.size()); };
  for (u32 tid = 1; tid <= 30; ++tid) fed.add(wait_of(tid, 1000, 1500, 1510));
  fed.add(span_of(20, 900, 2000)).add(span_of(21, 900, 2000));
  EXPECT_THAT(waits, ElementsAre(0, 1));
}

TEST(StallAssembler, BoundsThreads) {
  Fed fed({.waits = 5, .threads = 10});
  for (u32 tid = 1; tid <= 10'000; ++tid) {
    fed.add(wait_of(tid, 1000, 1500, 1510));
    fed.add(span_of(tid + 20'000, 900, 2000));
  }
  std::vector<std::size_t> waits;
  fed.look = [&](const RawStall& stall) { waits.push_back(stall.waits.size()); };
  fed.add(span_of(10'000, 900, 2000));
  EXPECT_THAT(waits, ElementsAre(1));
}

TEST(StallAssembler, ReadsStacksAsFarAsTheRecordHasThem) {
  Fed fed;
  fed.look = [](const RawStall& stall) {
    EXPECT_THAT(stall.kernel_stack, ElementsAre(0x10, 0x20));
    EXPECT_EQ(stall.registers.rsp, 0x7000u);
    EXPECT_THAT(stall.user_stack.stack, SizeIs(100));
  };
  span_record span = span_of(7, 1000, 2000);
  span.flags |= SPAN_HAS_USER_STACK;
  span.user_bytes = 5000;  // more than the record has
  auto bytes = with_stack(span, {0x10, 0x20});
  user_registers registers{};
  registers.rsp = 0x7000;
  const auto* of_registers = reinterpret_cast<const std::byte*>(&registers);
  bytes.insert(bytes.end(), of_registers, of_registers + sizeof registers);
  bytes.resize(bytes.size() + 100);
  fed.add(span_schema, bytes);
  span.user_bytes = 100;  // less than the record has
  std::memcpy(bytes.data(), &span, offsetof(span_record, kernel_frames));
  std::memcpy(bytes.data() + offsetof(span_record, user_bytes), &span.user_bytes, 2);
  bytes.resize(bytes.size() + 50);
  fed.add(span_schema, bytes);
  EXPECT_EQ(fed.stalls, 2u);
}

TEST(StallAssembler, TakesRecordsThatAreCutShort) {
  Fed fed;
  unsigned looked = 0;
  fed.look = [&](const RawStall& stall) {
    for (const RawWait* wait : stall.waits) looked += static_cast<unsigned>(wait->stack.size());
  };
  span_record span = span_of(7, 1000, 2000);
  span.flags |= SPAN_HAS_USER_STACK;
  const auto whole_wait = with_stack(wait_of(7, 1000, 1800, 1900, 8), {1, 2, 3});
  sched_wake wake{};
  wake.wakee_tid = 7;
  const auto whole_wake = with_stack(wake, {1, 2, 3});
  auto whole_span = with_stack(span, {1, 2});
  whole_span.resize(whole_span.size() + sizeof(user_registers) + 50);
  const auto cut = [&](const Schema& schema, const std::vector<std::byte>& whole) {
    for (std::size_t size = 0; size < whole.size(); ++size)
      fed.add(schema, std::vector<std::byte>(whole.begin(),
                                             whole.begin() + static_cast<std::ptrdiff_t>(size)));
  };
  cut(wake_schema, whole_wake);
  cut(wait_schema, whole_wait);
  cut(span_schema, whole_span);
  EXPECT_EQ(fed.stalls, whole_span.size());
  EXPECT_GT(looked, 0u);
}

TEST(StallAssembler, TakesAnyBytes) {
  static constexpr Schema unknown{
      .id = 999, .name = "unknown", .size = 48, .fields = {}, .help = ""};
  const Schema* schemas[] = {&wait_schema, &wake_schema, &span_schema, &unknown};
  std::mt19937 dice(1);
  Fed fed({.waits = 100, .waits_of_a_thread = 10, .threads = 50});
  std::uint64_t sum = 0;
  fed.look = [&](const RawStall& stall) {
    sum += stall.begin_ns() + stall.user_stack.stack.size() + stall.chain.size();
    EXPECT_LE(stall.chain.size(), 8u);
    for (const RawWait* wait : stall.waits) EXPECT_LE(wait->blocked_ns(), wait->length_ns());
  };
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::byte> bytes(dice() % 400);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice() % 4 ? dice() % 3 : dice());
    fed.add(*schemas[dice() % 4], bytes);
  }
  EXPECT_GT(fed.stalls, 1000u);
}

TEST(StallAssembler, TimesOffTheCpuWithinCallsAreSpansIfAskedFor) {
  for (const bool within_calls : {true, false}) {
    Fed fed;
    fed.assembler.look_for({.offcpu_ns = 500, .within_calls = within_calls});
    sched_wait in_call = wait_of(7, 1000, 1900, 1900), behind = wait_of(7, 3000, 3900, 3900);
    for (sched_wait* wait : {&in_call, &behind}) wait->flags = WAIT_OF_MEMBER;
    in_call.place = 12;
    behind.call = 1;
    fed.add(in_call, {1});
    fed.add(behind, {1});
    EXPECT_EQ(fed.stalls, within_calls ? 2u : 0u);
    sched_wait outside = wait_of(7, 5000, 5900, 5900);
    outside.flags = WAIT_OF_MEMBER;
    fed.add(outside, {1});
    EXPECT_EQ(fed.stalls, within_calls ? 3u : 1u);
  }
}

TEST(StallAssembler, AWaitInAPauseIsNoSpanButExplainsACall) {
  Fed fed;
  std::size_t waits = 0;
  fed.look = [&](const RawStall& stall) { waits = stall.waits.size(); };
  fed.assembler.look_for({.offcpu_ns = 500, .wakeup_ns = 1, .within_calls = true});
  sched_wait wait = wait_of(7, 1000, 1900, 1950);
  wait.flags = WAIT_OF_MEMBER | WAIT_UNARMED;
  fed.add(wait, {1});
  EXPECT_EQ(fed.stalls, 0u);
  fed.add(span_of(7, 900, 2000));
  EXPECT_EQ(fed.stalls, 1u);
  EXPECT_EQ(waits, 1u);
}

/// A wait of thread 7 after the end of its call 0, which began at 1000.
sched_wait behind_call(u64 out_ns, u64 in_ns, u32 state) {
  sched_wait wait = wait_of(7, out_ns, state == WAIT_PREEMPTED ? 0 : in_ns, in_ns);
  wait.state = state;
  wait.flags = WAIT_OF_MEMBER;
  wait.call = 1;
  wait.call_ns = 1000;
  return wait;
}

class WaysBack : public testing::Test {
 protected:
  WaysBack() {
    fed_.look = [this](const RawStall& stall) {
      if (stall.is_way_back) latencies_.push_back(stall.span.latency_ns);
      subject_ = stall.span.subject;
    };
    fed_.assembler.look_for({.call_ns = 500, .since_ns = 100});
    fed_.assembler.ask_for_ways_back([this](const RawWait&) { return is_way_back_; });
  }

  Fed fed_;
  bool is_way_back_ = true;
  std::vector<u64> latencies_;
  u64 subject_ = 77;
};

TEST_F(WaysBack, AreOfTheWholeCall) {
  sched_wait wait = behind_call(1300, 1900, WAIT_OTHER);
  wait.flags |= WAIT_RAN_SINCE_CALL;
  wait.sums.oncpu_ns = 300;
  wait.sums.sleeping_ns = 600;
  fed_.add(wait, {1});
  EXPECT_THAT(latencies_, ElementsAre(900u));
  EXPECT_EQ(subject_, 0u);
}

TEST_F(WaysBack, BeginWhereAllIsKnown) {
  fed_.add(behind_call(1300, 1900, WAIT_OTHER), {1});
  EXPECT_THAT(latencies_, ElementsAre(600u)) << "its shorter waits in the call are not known";
}

TEST_F(WaysBack, AreWholeIfWhatIsKnownIsNotLateByItself) {
  fed_.add(behind_call(1450, 1900, WAIT_OTHER), {1});
  EXPECT_THAT(latencies_, ElementsAre(900u));
}

TEST_F(WaysBack, AreWholeWhereTheWaitItselfIsUnknown) {
  sched_wait wait = behind_call(1300, 1900, WAIT_UNKNOWN);
  wait.flags |= WAIT_RAN_SINCE_CALL;
  wait.sums.oncpu_ns = 300;
  fed_.add(wait, {1});
  EXPECT_THAT(latencies_, ElementsAre(900u));
}

TEST_F(WaysBack, OfACallThatWasLateCountFromItsEnd) {
  fed_.add(span_of(7, 1000, 2000)).add(behind_call(2010, 2900, WAIT_OTHER), {1});
  EXPECT_THAT(latencies_, ElementsAre(890u));
  fed_.add(behind_call(2910, 4000, WAIT_PREEMPTED), {1});
  EXPECT_THAT(latencies_, SizeIs(1)) << "being preempted says nothing new of it";
}

TEST_F(WaysBack, AreNoneInACallOrAProgramOrIfShort) {
  is_way_back_ = false;
  fed_.add(behind_call(1300, 1900, WAIT_OTHER), {1});
  is_way_back_ = true;
  fed_.add(behind_call(1100, 1400, WAIT_OTHER), {1});
  EXPECT_THAT(latencies_, IsEmpty());
}

}  // namespace
}  // namespace overdue

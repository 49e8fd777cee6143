#include "analysis/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "analysis/explain_fixture.h"
#include "analysis/span_words.h"

namespace overdue {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(Explain, PartsAddUpToTheLatencyWithWhatIsUnknown) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  span.ledger = {.oncpu_ns = 100,
                 .runqueue_ns = 50,
                 .preempted_ns = 30,
                 .sleeping_ns = 400,
                 .uninterruptible_ns = 300,
                 .irq_ns = 10,
                 .softirq_ns = 20};
  span.throttled_ns = 40;
  e.fed.add(span);
  ASSERT_TRUE(e.finding.breakdown);
  const Breakdown& parts = *e.finding.breakdown;
  EXPECT_EQ(parts.ns(ShareKind::oncpu), 100u);
  EXPECT_EQ(parts.blocked_ns(), 700u);
  EXPECT_EQ(parts.ns(ShareKind::throttled), 40u);
  EXPECT_EQ(parts.unexplained_ns, 50u);
  EXPECT_EQ(parts.total_ns(), 1000u);
}

TEST(Explain, PartsAddUpEvenIfTheRecordIsDamaged) {
  std::mt19937_64 dice(1);
  for (int i = 0; i < 1000; ++i) {
    Explainer e;
    span_record span = span_of(7, 1000, 2000);
    u64* parts = &span.ledger.oncpu_ns;
    for (std::size_t at = 0; at < sizeof(ledger_parts) / 8; ++at)
      parts[at] = dice() >> (dice() % 64);
    span.throttled_ns = dice() >> (dice() % 64);
    if (i == 0) span.ledger.sleeping_ns = span.ledger.oncpu_ns = ~0ull;
    e.fed.add(span);
    ASSERT_TRUE(e.finding.breakdown);
    ASSERT_EQ(e.finding.breakdown->total_ns(), 1000u);
  }
}

TEST(Explain, WithoutALedgerThereAreNoParts) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  span.flags = 0;
  e.fed.add(span);
  EXPECT_FALSE(e.finding.breakdown);
  EXPECT_THAT(e.finding.waits, IsEmpty());
}

TEST(Explain, SplitsAWaitByItsWakeUp) {
  Explainer e;
  e.namer.names = {{1, "schedule"}, {2, "futex_wait"}};
  sched_wait wait = wait_of(7, 1000, 1600, 1900, 8);
  wait.behind_tid = 9;
  wait.behind_ns = 250;
  std::memcpy(wait.behind, "cruncher", 8);
  e.fed.add(wait, {1, 2}).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.waits, SizeIs(1));
  const Wait& seen = e.finding.waits[0];
  EXPECT_EQ(seen.ns, 900u);
  EXPECT_EQ(seen.runqueue_ns, 300u);
  EXPECT_EQ(seen.state, "sleeping");
  EXPECT_EQ(seen.kernel_stack.at(1).name, "futex_wait");
  ASSERT_TRUE(seen.waker);
  EXPECT_TRUE(seen.waker->is_thread);
  EXPECT_EQ(seen.waker->thread.tid, 8u);
  ASSERT_THAT(seen.ran.threads, SizeIs(1));
  EXPECT_EQ(seen.ran.threads[0].thread.comm, "cruncher");
  EXPECT_EQ(seen.ran.threads[0].ns, 250u);
  EXPECT_FALSE(seen.preempted_by);
}

TEST(Explain, SaysForHowLongOthersRan) {
  Explainer e;
  sched_runs runs{};
  name_thread(runs.header, 7, "thread-7");
  runs.header.time_ns = 1900;
  runs.others_ns = 5;
  runs.runs[0] = {.ns = 60, .tid = 9, .reserved = 0, .comm = "cruncher"};
  runs.runs[1] = {.ns = 200, .tid = 10, .reserved = 0, .comm = "hog"};
  e.fed.add(runs).add(wait_of(7, 1000, 1600, 1900, 8)).add(span_of(7, 1000, 2000));
  const CpuShares& ran = e.finding.waits.at(0).ran;
  ASSERT_THAT(ran.threads, SizeIs(2));
  EXPECT_EQ(ran.threads[0].thread.comm, "hog");
  EXPECT_EQ(ran.threads[0].ns, 200u);
  EXPECT_EQ(ran.threads[1].thread.tid, 9u);
  EXPECT_EQ(ran.others_ns, 5u);
}

TEST(Explain, AddsUpWhoRanOnTheCpusOnWhichItWaited) {
  Explainer e;
  const auto runs_at = [](u64 time_ns, u64 ns, u32 tid) {
    sched_runs runs{};
    name_thread(runs.header, 7, "thread-7");
    runs.header.time_ns = time_ns;
    runs.runs[0] = {.ns = ns, .tid = tid, .reserved = 0, .comm = "hog"};
    return runs;
  };
  sched_wait wait = wait_of(7, 1000, 0, 1900);
  wait.behind_tid = 11;
  wait.behind_ns = 30;
  e.fed
      .add(runs_at(990, 500, 9))  // of an earlier, unrecorded wait
      .add(runs_at(1400, 400, 9))
      .add(runs_at(1850, 450, 10))
      .add(wait)
      .add(span_of(7, 1000, 2000));
  const CpuShares& ran = e.finding.waits.at(0).ran;
  ASSERT_THAT(ran.threads, SizeIs(3));
  EXPECT_EQ(ran.threads[0].ns, 450u);
  EXPECT_EQ(ran.threads[0].thread.tid, 10u);
  EXPECT_EQ(ran.threads[1].ns, 400u);
  EXPECT_EQ(ran.threads[2].ns, 30u);
}

TEST(Explain, CallsTimeUnknownInWhichAPreemptedThreadsCpuIdled) {
  for (const auto& [idle_ns, unknown_ns] :
       std::vector<std::pair<u64, u64>>{{600, 700}, {30, 100}}) {
    Explainer e;
    sched_runs runs{};
    name_thread(runs.header, 7, "thread-7");
    runs.header.time_ns = 1900;
    runs.runs[0] = {.ns = 900 - idle_ns, .tid = 9, .reserved = 0, .comm = "hog"};
    runs.runs[1] = {.ns = idle_ns, .tid = 0, .reserved = 0, .comm = "swapper/0"};
    span_record span = span_of(7, 1000, 2000);
    span.ledger.preempted_ns = 900;
    e.fed.add(runs).add(wait_of(7, 1000, 0, 1900)).add(span);
    ASSERT_TRUE(e.finding.breakdown);
    EXPECT_EQ(e.finding.breakdown->unexplained_ns, unknown_ns);
    EXPECT_EQ(e.finding.breakdown->ns(ShareKind::preempted), 1000 - unknown_ns);
  }
}

TEST(Explain, NamesWhoTookTheCpu) {
  Explainer e;
  sched_wait wait = wait_of(7, 1000, 0, 1900);
  wait.displacer_tid = 9;
  std::memcpy(wait.displacer, "cruncher", 8);
  e.fed.add(wait).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.waits, SizeIs(1));
  EXPECT_EQ(e.finding.waits[0].state, "preempted");
  EXPECT_EQ(e.finding.waits[0].blocked_ns(), 0u);
  EXPECT_FALSE(e.finding.waits[0].waker);
  ASSERT_TRUE(e.finding.waits[0].preempted_by);
  EXPECT_EQ(e.finding.waits[0].preempted_by->comm, "cruncher");
}

TEST(Explain, LeavesItsOwnProgramsOutOfAWakersStack) {
  Explainer e;
  e.namer.names = {{1, "bpf_prog_1234_record_wake"},
                   {2, "bpf_prog_5678_on_waking"},
                   {3, "bpf_trace_run1"},
                   {4, "try_to_wake_up"},
                   {5, "bpf_trace_run1"}};
  e.fed.add(wake_of(8, 7, 1600), {1, 2, 3, 4, 5});
  e.fed.add(wait_of(7, 1000, 1600, 1900, 8)).add(span_of(7, 1000, 2000));
  ASSERT_TRUE(e.finding.waits.at(0).waker);
  EXPECT_THAT(e.finding.waits[0].waker->stack,
              ElementsAre(Field(&StackFrame::name, "try_to_wake_up"),
                          Field(&StackFrame::name, "bpf_trace_run1")));
}

TEST(Explain, LeavesItsOwnProgramsOutOfASpansStack) {
  Explainer e;
  e.namer.names = {{1, "bpf_prog_1234_on_end"}, {2, "bpf_trace_run2"}, {3, "down_write"}};
  e.fed.add(span_schema, with_stack(span_of(7, 1000, 2000), {1, 2, 3}));
  EXPECT_THAT(e.finding.kernel_stack, ElementsAre(Field(&StackFrame::name, "down_write")));
}

TEST(Explain, TellsWhatThreadsOfAChainDid) {
  Explainer e;
  e.namer.names = {{2, "do_fsync"}, {3, "crunch"}};
  sched_wait preempted = wait_of(9, 1000, 0, 1650);
  preempted.behind_tid = 10;
  preempted.behind_ns = 600;
  std::memcpy(preempted.behind, "cruncher", 8);
  e.fed.add(preempted, {3});
  e.fed.add(wait_of(8, 1000, 1700, 1800, 9), {2});
  e.fed.add(wait_of(7, 1000, 1900, 1950, 8)).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.chain, SizeIs(2));
  const ChainLink& first = e.finding.chain[0];
  EXPECT_EQ(first.what, "waited");
  EXPECT_EQ(first.thread.comm, "thread-8");
  EXPECT_EQ(first.ns, 800u);
  EXPECT_EQ(first.runqueue_ns, 100u);
  EXPECT_EQ(first.kernel_stack.at(0).name, "do_fsync");
  EXPECT_FALSE(first.is_root);
  const ChainLink& second = e.finding.chain[1];
  EXPECT_EQ(second.what, "preempted");
  EXPECT_EQ(second.thread.comm, "thread-9");
  ASSERT_THAT(second.ran.threads, SizeIs(1));
  EXPECT_EQ(second.ran.threads[0].thread.comm, "cruncher");
}

TEST(Explain, AddsUpWhoRanInEqualWaitsOfAWaker) {
  Explainer e;
  for (const u64 at : {500u, 1100u, 1400u}) {  // the first began earlier: its runners are unknown
    sched_wait preempted = wait_of(8, at, 0, at + 200);
    if (at == 500) preempted.header.time_ns = 1050;
    preempted.behind_tid = 10;
    preempted.behind_ns = 150;
    e.fed.add(preempted, {3});
  }
  e.fed.add(wait_of(7, 1000, 1700, 1750, 8)).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.chain, SizeIs(1));
  const ChainLink& link = e.finding.chain[0];
  EXPECT_EQ(link.what, "preempted");
  EXPECT_EQ(link.ns, 450u);
  ASSERT_THAT(link.ran.threads, SizeIs(1));
  EXPECT_EQ(link.ran.threads[0].ns, 300u);
}

TEST(Explain, EndsAChainInItsRoot) {
  Explainer e;
  sched_wait by_irq = wait_of(8, 1000, 1700, 1750, 3);
  by_irq.waker_context = WAKER_SOFTIRQ;
  by_irq.waker_number = 3;
  e.fed.add(by_irq);
  e.fed.add(wait_of(7, 1000, 1900, 1950, 8)).add(span_of(7, 1000, 2000));
  ASSERT_THAT(e.finding.chain, SizeIs(2));
  EXPECT_EQ(e.finding.chain[1].what, "softirq NET_RX");
  EXPECT_FALSE(e.finding.chain[1].is_thread);
  EXPECT_EQ(e.finding.chain[1].thread.tid, 0u);
  EXPECT_EQ(e.finding.chain[1].interrupted.tid, 3u) << "by chance";
  EXPECT_TRUE(e.finding.chain[1].is_root);

  e.fed.add(wait_of(17, 1000, 1900, 1950, 18)).add(span_of(17, 1000, 2000));
  ASSERT_THAT(e.finding.chain, SizeIs(1));
  EXPECT_EQ(e.finding.chain[0].what, "ran");
  EXPECT_TRUE(e.finding.chain[0].is_root);

  e.fed.add(wait_of(27, 1000, 1900, 1950, 27)).add(span_of(27, 1000, 2000));
  ASSERT_THAT(e.finding.chain, SizeIs(1));
  EXPECT_TRUE(e.finding.chain[0].is_cut);
  EXPECT_FALSE(e.finding.chain[0].is_root);
}

TEST(Explain, UnwindsTheUsersStack) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  span.flags |= SPAN_HAS_USER_STACK;
  span.user_bytes = 99;
  auto bytes = with_stack(span, {1, 2});
  bytes.resize(bytes.size() + sizeof(user_registers) + 99);
  e.fed.add(wait_of(7, 1000, 1900, 1950, 8)).add(span_schema, bytes);
  ASSERT_TRUE(e.finding.user_stack);
  EXPECT_EQ(e.finding.kernel_stack.size(), 2u);
  EXPECT_TRUE(e.namer.is_user_first) << "its process may be gone any moment";
  EXPECT_EQ(e.finding.user_stack->at(0).name, "7");
  EXPECT_EQ(e.finding.user_stack_end, "cut");
  e.fed.add(span_of(7, 2000, 3000));
  EXPECT_FALSE(e.finding.user_stack);
}

TEST(Explain, AnOpenSpanIsAHang) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  e.fed.add(span);
  EXPECT_EQ(e.finding.type, "stall");
  span.flags |= SPAN_OPEN;
  e.fed.add(span);
  EXPECT_EQ(e.finding.type, "hang");
}

TEST(Explain, AnOpenCallSaysInOurWordsWhatItsThreadDoes) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  span.flags |= SPAN_OPEN;
  span.detail = 600;
  const auto reported = [&](std::string_view state) {
    span.text[state.copy(span.text, sizeof span.text - 1)] = '\0';
    e.fed.add(span);
    return e.finding.state;
  };
  for (const std::string_view state :
       {"running", "runqueue", "sleeping", "uninterruptible", "preempted", "other"})
    EXPECT_EQ(reported(state), state);
  EXPECT_EQ(reported("\033[2J"), "other");  // from a damaged file
  ASSERT_THAT(e.finding.waits, SizeIs(1));
  EXPECT_EQ(e.finding.waits[0].ns, 600);
  EXPECT_EQ(e.finding.waits[0].state, "other");
}

TEST(Explain, AnOpenCallSaysWhoStopsItsThread) {
  Explainer e;
  e.namer.names = {{1, "ptrace_stop"}, {2, "do_signal_stop"}};
  const auto reported = [&](std::string_view state, std::uint64_t function) {
    span_record span = span_of(7, 1000, 2000);
    span.flags |= SPAN_OPEN;
    span.detail = 600;
    span.text[state.copy(span.text, sizeof span.text - 1)] = '\0';
    e.fed.add(span_schema, with_stack(span, {function}));
    return e.finding.state;
  };
  EXPECT_EQ(reported("traced a [b[2]", 1), "traced");
  ASSERT_TRUE(e.finding.waits.at(0).tracer);
  EXPECT_EQ(e.finding.waits[0].tracer->comm, "a [b");
  EXPECT_EQ(e.finding.waits[0].tracer->tid, 2u);
  EXPECT_EQ(e.finding.waits[0].means, "traced");
  EXPECT_EQ(e.finding.waits[0].state, "other");
  EXPECT_EQ(reported("other", 1), "traced") << "by an unknown tracer";
  EXPECT_FALSE(e.finding.waits.at(0).tracer);
  EXPECT_EQ(reported("traced gdb[9]", 2), "stopped") << "the tracer did not stop the thread";
  EXPECT_FALSE(e.finding.waits.at(0).tracer);
  for (const std::string_view damaged :
       {"traced gdb[", "traced gdb[x]", "traced gdb[9", "traced ["})
    EXPECT_EQ(reported(damaged, 3), "other") << damaged;
}

TEST(Explain, AnOpenSpanOfAnotherKindHasNoThreadThatIsLate) {
  Explainer e;
  span_record span = span_of(7, 1000, 2000);
  span.flags |= SPAN_OPEN;
  span.span = SPAN_PAIR;
  span.subject = 41;
  span.detail = 4096;  // its second key
  std::string_view("reply").copy(span.text, sizeof span.text);
  e.fed.add(span);
  EXPECT_EQ(e.finding.type, "hang");
  EXPECT_EQ(e.finding.title, "reply key 41;4096");
  EXPECT_EQ(e.finding.state, "");
  EXPECT_THAT(e.finding.waits, IsEmpty());
}

RawWaker waker_in(u16 context, u16 number, std::string irq_name = "") {
  RawWaker waker;
  waker.context = context;
  waker.number = number;
  waker.irq_name = std::move(irq_name);
  return waker;
}

TEST(ContextText, NamesInterrupts) {
  EXPECT_EQ(context_text(waker_in(WAKER_THREAD, 0)), "thread");
  EXPECT_EQ(context_text(waker_in(WAKER_SOFTIRQ, 4)), "softirq BLOCK");
  EXPECT_EQ(context_text(waker_in(WAKER_SOFTIRQ, 400)), "softirq 400");
  EXPECT_EQ(context_text(waker_in(WAKER_VECTOR, VECTOR_LOCAL_TIMER)), "vector local_timer");
  EXPECT_EQ(context_text(waker_in(WAKER_VECTOR, 0)), "vector 0");
  EXPECT_EQ(context_text(waker_in(WAKER_IRQ, 24, "virtio1-req.0")), "irq 24 virtio1-req.0");
  EXPECT_EQ(context_text(waker_in(WAKER_IRQ, 24, "a\033b")), "irq 24 a\\x1bb");
  EXPECT_EQ(context_text(waker_in(WAKER_IRQ, 24)), "irq 24");
  EXPECT_EQ(context_text(waker_in(77, 1)), "unknown");
}

TEST(Explain, TakesAnyBytes) {
  Explainer e;
  std::mt19937 dice(1);
  const Schema* schemas[] = {&wait_schema,   &wake_schema, &span_schema,
                             &sample_schema, &stop_schema, &handler_schema};
  for (int i = 0; i < 10'000; ++i) {
    std::vector<std::byte> bytes(dice() % 600);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(dice() % 4 ? dice() % 3 : dice());
    e.fed.add(*schemas[dice() % std::size(schemas)], bytes);
    if (!e.finding.breakdown) continue;
    ASSERT_EQ(e.finding.breakdown->total_ns(), e.finding.latency_ns);
  }
  EXPECT_GT(e.fed.stalls, 1000u);
}

}  // namespace
}  // namespace overdue

// Records of signals, disks and wakers, and the findings made of them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "analysis/explain_fixture.h"

namespace overdue {
namespace {

using testing::IsEmpty;

TEST(ExplainSignals, AHandlerBehindACallIsOnItsWayBack) {
  Explainer e;
  signal_handler handler{};
  name_thread(handler.header, 7, "late");
  handler.header.time_ns = 2000;
  handler.begin_ns = 1200;
  handler.signal = 10;
  e.fed.add(handler).add(span_of(7, 1000, 2000));
  EXPECT_TRUE(e.finding.is_way_back);
  ASSERT_TRUE(e.finding.handler);
  EXPECT_EQ(e.finding.handler->signal, "SIGUSR1");
  EXPECT_EQ(e.finding.handler->ns, 800u);
  e.fed.add(span_of(7, 3000, 4000));
  EXPECT_FALSE(e.finding.is_way_back);
  EXPECT_FALSE(e.finding.handler) << "it was the other call's";
}

TEST(ExplainSignals, OfAnotherTimeIsNoHandlerOfTheCall) {
  Explainer e;
  signal_handler handler{};
  name_thread(handler.header, 7, "late");
  handler.header.time_ns = 1999;
  e.fed.add(handler).add(span_of(7, 1000, 2000));
  EXPECT_FALSE(e.finding.is_way_back);
}

class Stopped : public testing::Test {
 protected:
  void send(u32 to, u64 time_ns, bool is_from_kernel = false) {
    stop_signal stop{};
    name_thread(stop.header, 90, "sender");
    stop.header.time_ns = time_ns;
    stop.target_pid = to;
    stop.signal = 19;
    stop.is_from_kernel = is_from_kernel;
    e_.fed.add(stop);
  }
  const std::optional<StopSignal>& stop_of_wait() {
    e_.namer.names[1] = "do_signal_stop";
    sched_wait wait = wait_of(7, 1100, 1900, 1900);
    wait.state = WAIT_OTHER;
    e_.fed.add(wait, {1}).add(span_of(7, 1000, 2000));
    return e_.finding.waits.at(0).stop;
  }
  Explainer e_;
};

TEST_F(Stopped, BySomebodyIsByTheLastWhoSentASignalBefore) {
  send(7, 500, true);
  send(7, 1050);
  send(8, 1080, true);
  send(7, 1500, true);
  const auto& stop = stop_of_wait();
  ASSERT_TRUE(stop && stop->sender);
  EXPECT_EQ(stop->name, "SIGSTOP");
  EXPECT_EQ(stop->sender->comm, "sender");
  EXPECT_EQ(stop->sender->tid, 90u);
}

TEST_F(Stopped, ByTheKernelIsNotByTheThreadThatItMet) {
  send(7, 1050, true);
  const auto& stop = stop_of_wait();
  ASSERT_TRUE(stop);
  EXPECT_FALSE(stop->sender);
}

TEST_F(Stopped, ByNobodyThatIsKnown) {
  send(8, 1050);
  EXPECT_FALSE(stop_of_wait());
}

TEST(ExplainWaker, NamesTheDiskOfACompletion) {
  for (const auto& [function, disk] : {std::pair{u64{1}, "vda"}, {u64{2}, ""}}) {
    Explainer e;
    e.namer.names = {{1, "bio_endio"}, {2, "net_rx_action"}};
    sched_wake wake = wake_of(90, 7, 1900);
    wake.context = WAKER_SOFTIRQ;
    std::string_view("vda").copy(wake.disk, sizeof wake.disk);
    sched_wait wait = wait_of(7, 1100, 1900, 1900);
    wait.waker_context = WAKER_SOFTIRQ;
    e.fed.add(wake, {function}).add(wait).add(span_of(7, 1000, 2000));
    ASSERT_TRUE(e.finding.waits.back().waker);
    EXPECT_EQ(e.finding.waits.back().waker->disk, disk);
    EXPECT_EQ(e.finding.chain.at(0).disk, disk);
  }
}

TEST(ExplainWaker, SaysWhatAnInterruptMeansWhoseThreadDoesTheWork) {
  Explainer e;
  e.namer.names = {{1, "blk_mq_end_request"}, {2, "irq_thread"}, {3, "worker_thread"}};
  for (const u64 root : {2u, 3u}) {
    const u32 late = 10 * static_cast<u32>(root), worker = late + 1;
    sched_wait by_irq = wait_of(worker, 1000, 1700, 1750, 3);
    by_irq.waker_context = WAKER_IRQ;
    e.fed.add(by_irq);
    sched_wake completion = wake_of(worker, late, 1900);
    std::string_view("vda").copy(completion.disk, sizeof completion.disk);
    e.fed.add(completion, {1, root});
    e.fed.add(wait_of(late, 1000, 1900, 1950, worker)).add(span_of(late, 1000, 2000));
    ASSERT_THAT(e.finding.chain, SizeIs(2));
    EXPECT_EQ(e.finding.chain[1].means, root == 2 ? "disk completion" : "");
    EXPECT_EQ(e.finding.chain[1].disk, root == 2 ? "vda" : "");
  }
}

TEST(ExplainWaker, SaysFromWhereItWokeTheOther) {
  Explainer e;
  e.fed.add(wake_of(90, 7, 1900))
      .add(sample_schema, sample_of(90, 1900, {1}, true, SAMPLE_OF_WAKER));
  e.fed.add(wait_of(7, 1100, 1900, 1900, 90)).add(span_of(7, 1000, 2000));
  ASSERT_FALSE(e.finding.chain.empty());
  ASSERT_EQ(e.finding.chain[0].waking_stack.size(), 1u);
  EXPECT_EQ(e.finding.chain[0].waking_stack[0].name,
            "90");  // process id passed to the namer
  EXPECT_THAT(e.finding.chain[0].on_cpu.places, IsEmpty());
}

/// The wait of a thread with a tracer in `function`.
Wait wait_with_tracer(std::string_view function, u32 state) {
  Explainer e;
  e.namer.names[1] = function;
  sched_wait wait = wait_of(7, 1100, 1900, 1900, 90);
  wait.state = state;
  wait.displacer_tid = 91;
  std::strcpy(wait.displacer, "gdb");
  e.fed.add(wait, {1}).add(span_of(7, 1000, 2000));
  return e.finding.waits.at(0);
}

TEST(ExplainSignals, NamesTheTracerThatStopsAThread) {
  const Wait wait = wait_with_tracer("ptrace_stop", WAIT_OTHER);
  ASSERT_TRUE(wait.tracer);
  EXPECT_EQ(wait.tracer->comm, "gdb");
  EXPECT_EQ(wait.tracer->tid, 91u);
  EXPECT_FALSE(wait.preempted_by);
}

TEST(ExplainSignals, NamesNoTracerOfAThreadThatItDidNotStop) {
  EXPECT_FALSE(wait_with_tracer("do_signal_stop", WAIT_OTHER).tracer);
  EXPECT_FALSE(wait_with_tracer("ptrace_stop", WAIT_PREEMPTED).tracer);
}

}  // namespace
}  // namespace overdue

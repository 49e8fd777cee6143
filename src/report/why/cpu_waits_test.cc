#include "report/why/cpu_waits.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "core/span_kinds.h"
#include "report/why/figures_fixture.h"

namespace overdue::cpu_waits_test {
namespace {

using figures_test::ms;
using figures_test::Session;
using figures_test::thread_of;

Finding preempted_call(std::uint32_t runner, std::string comm, std::uint64_t ns) {
  Finding finding;
  finding.span = span_name(SPAN_SYSCALL);
  finding.name = "read";
  finding.thread = {10, 10, "app"};
  finding.time = KernelTime(Duration(2));  // the first of a class, the longest, stands for itself
  finding.latency_ns = ns;
  finding.breakdown = Breakdown{{ShareKind::preempted, ns}};
  finding.waits = {Wait{.ns = ns, .state = "preempted"}};
  finding.waits[0].ran.add({0, runner, std::move(comm)}, ns);
  return finding;
}

WhyCause waits_for_cpu(const Session& session) {
  for (const WhyCause& cause : session.figures().causes)
    if (cause.kind == why_runqueue) return cause;
  ADD_FAILURE() << "no such cause";
  return {};
}

TEST(CpuWaits, WhatIsNotKnownHasAShare) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].runqueue_ns = 400 * ms;
  session.blame.add(preempted_call(20, "busy", 100 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU behind busy 25 % (unknown: 75 %)");
}

TEST(CpuWaits, PreemptionsThatWereNotExaminedHaveTheSharesOfTheirDisplacers) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].preempted_ns = 400 * ms;
  session.threads[0].displacers = {{.tid = 7, .comm = "sh", .count = 40, .total_ns = 400 * ms}};
  session.blame.add(preempted_call(20, "busy", 100 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU behind sh 75 %, busy 25 %");
}

TEST(CpuWaits, LongPreemptionsAreNotAllBehindTheThreadThatCameFirst) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].preempted_ns = 400 * ms;
  session.threads[0].displacers = {
      {.tid = 7, .comm = "rcu_preempt", .count = 4, .total_ns = 400 * ms}};
  session.blame.add(preempted_call(20, "busy", 100 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU behind busy 25 % (unknown: 67 %)");
}

TEST(CpuWaits, ThatWereTooShortToBeExaminedAreBehindTheThreadThatHadTheCpu) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].runqueue_ns = 400 * ms;
  session.threads[0].behind = {{.tid = 7, .comm = "sh", .count = 900, .total_ns = 75 * ms},
                               {.tid = 0, .comm = "(unknown)", .count = 9, .total_ns = 25 * ms}};
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU behind sh 75 % (unknown: 25 %)");
  session.blame.add(preempted_call(20, "busy", 200 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).cause,
            "waited for a CPU behind busy 50 %, sh 37 % (unknown: 12 %)");
}

TEST(CpuWaits, OfACpuThatHadNoThreadSaySo) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].runqueue_ns = 400 * ms;
  session.threads[0].behind = {{.tid = 7, .comm = "sh", .count = 900, .total_ns = 25 * ms},
                               {.tid = 0, .comm = "(idle)", .count = 800, .total_ns = 75 * ms}};
  EXPECT_EQ(waits_for_cpu(session).cause,
            "waited for a CPU behind sh 25 %, while the CPU idled 75 %");
  EXPECT_EQ(waits_for_cpu(session).idle_ns, 300 * ms);
  session.blame.add(preempted_call(0, "", 200 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).idle_ns, 350 * ms);
}

TEST(CpuWaits, OfThreadsThatMayNotRunElsewhereSaySo) {
  Session session;
  for (const std::uint32_t tid : {10u, 11u, 12u}) {
    session.threads.push_back(thread_of(10, tid, "app"));
    session.threads.back().runqueue_ns = 100 * ms;
  }
  const std::string words = "bound to CPU 0, while the other CPU was idle 60 % of the time";
  session.bound_threads = {{.id = 11, .words = words}};
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU (unknown: 100 %)") << "one of three";
  session.bound_threads.push_back({.id = 12, .words = words});
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU (unknown: 100 %); " + words);
}

TEST(CpuWaits, OperationsThatAreNoDelayHaveWaitedForACpuAllTheSame) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].runqueue_ns = 100 * ms;
  session.blame.add_left_out(preempted_call(20, "busy", 100 * ms), {});
  EXPECT_EQ(waits_for_cpu(session).cause, "waited for a CPU behind busy 100 %");
}

span_record read_span(std::uint64_t end_ns, std::uint64_t latency_ns) {
  span_record span{};
  span.header.time_ns = end_ns;
  span.header.tid = 10;
  std::ranges::copy(std::string_view("app"), span.header.comm);
  span.span = SPAN_SYSCALL;
  span.latency_ns = latency_ns;
  return span;
}

TEST(CpuWaits, AnExaminedWaitStandsForThoseOfItsClass) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].preempted_ns = 1000 * ms;
  for (std::uint64_t i = 1; i <= 10'000; ++i) session.sampling.wants(read_span(1, ms), {});
  const Finding often = preempted_call(20, "often", 10 * ms);
  session.blame.add(often, session.sampling.class_of(often));
  Finding once = preempted_call(30, "once", 10 * ms);
  once.name = "write";
  session.blame.add(once, session.sampling.class_of(once));
  const WhyCause cause = waits_for_cpu(session);
  ASSERT_EQ(cause.by.size(), 2u);
  EXPECT_EQ(cause.by[0].name, "often");
  EXPECT_GT(cause.by[0].ns, 100 * cause.by[1].ns);
  EXPECT_GT(cause.count, 100u);
}

}  // namespace
}  // namespace overdue::cpu_waits_test

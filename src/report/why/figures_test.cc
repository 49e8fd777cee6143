#include "report/why/figures.h"

#include <string>

#include <gtest/gtest.h>

#include "report/why/figures_fixture.h"
#include "report/why/groups.h"

namespace overdue::figures_test {
namespace {

TEST(WhyFigures, AnIdleTargetHasNoCauses) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].sleeping_ns = 999 * ms;
  session.threads[0].oncpu_ns = ms;
  const WhyFigures all = session.figures();
  EXPECT_TRUE(all.causes.empty());
  EXPECT_TRUE(all.verdict.starts_with("Nothing was late")) << all.verdict;
  EXPECT_TRUE(all.next.empty());
}

TEST(WhyFigures, WithoutThreadsNothingIsSaid) {
  EXPECT_EQ(Session().figures().verdict, "No thread of the target ran.");
}

TEST(WhyFigures, WaitsForACpuNameWhatRan) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].preempted_ns = 400 * ms;
  session.threads[0].displacers = {{.tid = 7, .comm = "cc1-1", .count = 40, .total_ns = 300 * ms},
                                   {.tid = 8, .comm = "cc1-2", .count = 10, .total_ns = 60 * ms},
                                   {.tid = 9, .comm = "sh", .count = 4, .total_ns = 40 * ms}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].kind, why_runqueue);
  EXPECT_EQ(all.causes[0].cause, "waited for a CPU behind cc*-* 90 %, sh 10 %");
  EXPECT_EQ(all.causes[0].total_ns, 400 * ms);
  EXPECT_EQ(all.causes[0].next, "overdue offcpu --by displacer --pid 10 -d 10s");
}

TEST(WhyFigures, VeryManyShortCallsAreACause) {
  Session session;
  session.call("newfstatat", 33'000, 5'000);
  session.call("read", 100, 5'000);
  session.call("clock_nanosleep", 900, 1'000'000);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].kind, why_calls);
  EXPECT_EQ(all.causes[0].cause, "newfstatat 33,000 times, 5.00us each");
  EXPECT_EQ(all.causes[0].next, "overdue syscalls -e newfstatat --by caller --pid 10 -d 10s");
}

TEST(WhyFigures, CallsOfThreadsWithNumbersAreOneCauseWithinTheirCpuTime) {
  Session session;
  for (const char* comm : {"writer-1", "writer-2", "writer-3"}) {
    session.call("futex", 30'000, 50'000);
    session.calls.rows.back().process->comm = comm;
  }
  session.call("lseek", 30'000, 40'000);
  session.threads.push_back(thread_of(10, 11, "writer-1"));
  session.threads[0].oncpu_ns = 900 * ms;
  const WhyFigures all = session.figures();
  ASSERT_GE(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "futex 90,000 times, 50.0us each");
  EXPECT_EQ(all.causes[0].who.at(0).name, "writer-*[10]");
  std::uint64_t ns = 0;
  for (const WhyCause& cause : all.causes) ns += cause.total_ns;
  EXPECT_LE(ns, 900 * ms);
}

TEST(WhyFigures, CallsThatWaitHaveOnlyTheirTimeOnTheCpu) {
  Session session;
  session.call("futex", 30'000, 50'000);
  session.threads.push_back(thread_of(10, 11, "app"));
  session.threads[0].oncpu_ns = 900 * ms;
  session.threads[0].reason_ns[REASON_FUTEX] = 1'000 * ms;
  session.threads[0].runqueue_ns = 300 * ms;
  const auto futexes = [&] {
    for (const WhyCause& cause : session.figures().causes)
      if (cause.kind == why_calls) return cause.total_ns;
    return std::uint64_t{0};
  };
  EXPECT_EQ(futexes(), 200 * ms);
  session.threads[0].runqueue_ns = 600 * ms;
  EXPECT_EQ(futexes(), 0u) << "all of it may have been waits";
}

TEST(WhyFigures, ACallThatAlwaysFailsForAShortageSaysSo) {
  Session session;
  session.call("accept4", 30'000, 1'000, 30'000);
  EXPECT_TRUE(session.figures().causes.empty()) << "it found nothing to do";
  session.calls.rows.back().errnos = {{"EMFILE", 30'000}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "accept4 30,000 times, 1.00us each, and fails: EMFILE");
}

TEST(WhyFigures, ARefusedCallBeforeEachSleepIsARetry) {
  Session session;
  session.call("flock", 90, 2'000, 90);
  session.call("clock_nanosleep", 89, 10 * ms);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].kind, why_retry);
  EXPECT_TRUE(all.causes[0].cause.starts_with("retries: flock failed 90 times (EWOULDBLOCK)"))
      << all.causes[0].cause;
}

TEST(WhyFigures, AShellThatCannotForkSleepsSeldomButLong) {
  Session session;
  session.call("clone", 1, 2'000, 1);
  session.call("wait4", 2, 2'000, 2);
  session.call("clock_nanosleep", 1, 900 * ms);
  EXPECT_TRUE(session.figures().causes.empty());
  session.calls.rows.front().errnos = {{"EAGAIN", 1}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_TRUE(all.causes[0].cause.starts_with("retries: clone failed 1 times (EAGAIN)"))
      << all.causes[0].cause;
}

TEST(WhyFigures, ProgramsThatFailOneByOneBetweenSleepsAreRetries) {
  const auto causes_of = [](const char* error) {
    Session session;
    for (std::uint32_t i = 0; i < 9; ++i) {
      session.call("connect", 1, 2'000, 1);
      session.calls.rows.back().process = ProcessKey{100 + i, "pg_isready"};
      session.calls.rows.back().errnos = {{error, 1}};
      session.call("clock_nanosleep", 1, 90 * ms);
      session.calls.rows.back().process = ProcessKey{200 + i, "sleep"};
    }
    return session.figures().causes;
  };
  const auto causes = causes_of("ECONNREFUSED");
  ASSERT_EQ(causes.size(), 1u);
  EXPECT_EQ(causes[0].kind, why_retry);
  EXPECT_EQ(causes[0].total_ns, 810 * ms);
  EXPECT_TRUE(causes[0].cause.starts_with(
      "retries: 9 processes pg_isready, connect failed 9 times (ECONNREFUSED)"))
      << causes[0].cause;
  EXPECT_TRUE(causes_of("ENOENT").empty()) << "programs look for files that may be missing";
}

TEST(WhyFigures, TheHolderOfTheLockOfARetryIsNamed) {
  Session session;
  session.call("flock", 90, 2'000, 90);
  session.call("clock_nanosleep", 89, 10 * ms);
  session.locks = {{.wanted_by = 10, .holder = {12, 12, "backup"}, .path = "/srv/job.lock"}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_TRUE(all.causes[0].cause.ends_with("; /srv/job.lock is locked by backup[12]"))
      << all.causes[0].cause;
  ASSERT_EQ(all.causes[0].by.size(), 1u);
  EXPECT_EQ(all.causes[0].by[0].name, "backup[12]");
}

TEST(WhyFigures, WaitsForADiskBelowTheThresholdAreACause) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].uninterruptible_ns = 400 * ms;
  session.threads[0].reason_ns[REASON_DISK] = 400 * ms;
  session.call("fdatasync", 1000, 400'000);
  session.call("write", 1000, 4'000);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "disk: fdatasync 1,000 times, 400us each");
  EXPECT_EQ(all.causes[0].total_ns, 400 * ms);
}

TEST(WhyFigures, AHolderIsNamedIfOneLockAloneCanBeMeant) {
  Session session;
  session.call("flock", 90, 2'000, 90);
  session.call("clock_nanosleep", 89, 10 * ms);
  session.locks.push_back({.wanted_by = 10, .holder = {7, 7, "holder"}, .path = "/srv/a"});
  const WhyFigures one = session.figures();
  ASSERT_EQ(one.causes.size(), 1u);
  EXPECT_TRUE(one.causes[0].cause.ends_with("; /srv/a is locked by holder[7]"))
      << one.causes[0].cause;
  session.locks.push_back({.wanted_by = 10, .holder = {8, 8, "innocent"}, .path = "/srv/b"});
  const WhyFigures several = session.figures();
  ASSERT_EQ(several.causes.size(), 1u);
  EXPECT_EQ(several.causes[0].cause.find("locked by"), std::string::npos);
  EXPECT_TRUE(several.causes[0].by.empty());
}

TEST(WhyFigures, BusyThreadsAreNamedByFunction) {
  Session session;
  session.threads.push_back(thread_of(10, 11, "worker-1"));
  session.threads.push_back(thread_of(10, 12, "worker-2"));
  for (OffcpuRow& thread : session.threads) thread.oncpu_ns = 300 * ms;
  const Stack user = {{.name = "crc", .module = "/bin/app"},
                      {.name = "main", .module = "/bin/app"}};
  for (int i = 0; i < 20; ++i) session.cpu.add(10, "worker-1", {}, user);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "on the CPU: 100 % in crc ← main");
  EXPECT_EQ(all.causes[0].total_ns, 600 * ms);
  EXPECT_EQ(all.causes[0].who[0].name, "worker-*");
  ASSERT_EQ(all.oncpu.size(), 1u);
  EXPECT_EQ(all.oncpu[0].module, "/bin/app");
}

TEST(WhyFigures, ALoopThatFailsIsOneCauseWithItsLimit) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].oncpu_ns = 900 * ms;
  session.call("epoll_wait", 20'000, 2'000);
  session.call("accept4", 20'500, 5'000, 20'500);
  session.calls.rows.back().errnos = {{"EMFILE", 20'500}};
  session.call("getpid", 300, 1'000);
  session.limits = {{.id = 10, .words = "12 of 12 descriptors are open"}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause,
            "accept4 20,500 times, 5.00us each, and fails: EMFILE, in a loop with epoll_wait; 12 "
            "of 12 descriptors are open");
  EXPECT_EQ(all.causes[0].total_ns, 900 * ms) << "the program does nothing else";
}

TEST(WhyFigures, ALoopThatFailsBesideOtherWorkHasOnlyItsCalls) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].oncpu_ns = 900 * ms;
  session.call("accept4", 20'000, 5'000, 20'000);
  session.calls.rows.back().errnos = {{"EMFILE", 20'000}};
  session.call("getpid", 100'000, 100);
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 2u);
  EXPECT_EQ(all.causes[0].kind, why_cpu);
  EXPECT_EQ(all.causes[1].cause, "accept4 20,000 times, 5.00us each, and fails: EMFILE");
  EXPECT_EQ(all.causes[1].total_ns, 100 * ms);
}

TEST(WhyFigures, ProcessesThatCannotBeStartedHaveTheirLimit) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.call("clock_nanosleep", 20, 50 * ms);
  session.call("vfork", 20, 10'000, 20);
  session.calls.rows.back().errnos = {{"EAGAIN", 20}};
  session.limits = {{.id = 10, .words = "cgroup /jobs has 7 of 7 processes"}};
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause,
            "retries: vfork failed 20 times (EAGAIN), and a sleep of 50.0ms after each; cgroup "
            "/jobs has 7 of 7 processes");
}

TEST(WhyFigures, MemoryReclaimNamesTheCgroupThatIsAtItsLimit) {
  Session session;
  for (const std::uint32_t pid : {10u, 11u}) {
    session.threads.push_back(thread_of(pid, pid, "app"));
    session.threads.back().oncpu_ns = 400 * ms;
  }
  for (int i = 0; i < 20; ++i)
    session.cpu.add(10, "app", {{.name = "try_to_free_mem_cgroup_pages"}}, {});
  const std::string reclaim = "memory reclaim at the limit of the cgroup, on the CPU";
  const auto cause = [&session] { return session.figures().causes.at(0).cause; };
  EXPECT_EQ(cause(), reclaim);
  session.memory_limits = {{.id = 11, .words = "reclaims memory of cgroup /b: 1 of 1"}};
  EXPECT_EQ(cause(), reclaim) << "the limit of another process";
  session.memory_limits.push_back({.id = 10, .words = "reclaims memory of cgroup /a: 2 of 2"});
  EXPECT_EQ(cause(), reclaim + "; reclaims memory of cgroup /a: 2 of 2");
}

TEST(WhyFigures, MemoryReclaimOnTheCpuAndInWaitsIsOneCause) {
  Session session;
  session.threads.push_back(thread_of(10, 11, "app"));
  session.threads.back().oncpu_ns = 400 * ms;
  for (int i = 0; i < 20; ++i)
    session.cpu.add(10, "app", {{.name = i < 10 ? "try_to_free_mem_cgroup_pages" : "copy"}}, {});
  Finding wait;
  wait.span = "syscall";
  wait.name = "pwrite64";
  wait.thread = {.pid = 10, .tid = 11, .comm = "app"};
  wait.latency_ns = 150 * ms;
  wait.breakdown = Breakdown{{ShareKind::uninterruptible, 150 * ms}};
  wait.waits = {{.ns = 150 * ms,
                 .state = "uninterruptible",
                 .kernel_stack = {{.name = "try_to_free_mem_cgroup_pages"}}}};
  wait.places = {{.state = "uninterruptible", .ns = 150 * ms, .count = 1, .blocked_ns = 150 * ms}};
  session.blame.add(wait, {});
  session.memory_limits = {{.id = 10, .words = "reclaims memory of cgroup /a: 2 of 2"}};
  const WhyFigures all = session.figures();
  ASSERT_GE(all.causes.size(), 1u);
  const WhyCause& limit = all.causes[0];
  EXPECT_TRUE(limit.cause.starts_with("memory reclaim at the limit of the cgroup: pwrite64"))
      << limit.cause;
  EXPECT_TRUE(limit.cause.ends_with("; reclaims memory of cgroup /a: 2 of 2")) << limit.cause;
  EXPECT_EQ(limit.total_ns, 350 * ms);
  EXPECT_EQ(limit.parts.ns(ShareKind::oncpu), 200 * ms);
  ASSERT_EQ(limit.who.size(), 1u);
  EXPECT_EQ(limit.who[0].ns, 350 * ms);
  EXPECT_TRUE(all.verdict.find("cgroup /a") != std::string::npos) << all.verdict;
}

TEST(WhyFigures, ProgramsThatAScriptStartsUntilOneSucceedsAreRetries) {
  const auto session_of = [](std::uint64_t failing, std::string_view sleeper) {
    Session session;
    session.threads.push_back(thread_of(10, 10, "sh"));
    for (std::uint32_t pid = 100; pid < 110; ++pid) {
      LatencyRow row;
      row.name = "exit_group";
      row.process = ProcessKey{pid, "grep"};
      row.unreturned = 1;
      row.failed = pid < 100 + failing ? 1 : 0;
      session.calls.rows.push_back(std::move(row));
    }
    session.call("clock_nanosleep", 10, 50 * ms);
    session.calls.rows.back().process = ProcessKey{200, std::string(sleeper)};
    return session;
  };
  const WhyFigures all = session_of(10, "sleep").figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause,
            "retries: 10 processes grep, each ended with an exit status that is not 0, and a sleep "
            "of 50.0ms after each");
  EXPECT_EQ(all.causes[0].total_ns, 500 * ms);
  EXPECT_TRUE(session_of(4, "sleep").figures().causes.empty()) << "most succeed";
  Session supervisor = session_of(10, "supervisor");
  EXPECT_TRUE(supervisor.figures().causes.empty()) << "another process sleeps";
  supervisor.call("clone", 10, 100'000);
  supervisor.calls.rows.back().process = ProcessKey{200, "supervisor"};
  EXPECT_EQ(supervisor.figures().causes.size(), 1u);
}

TEST(WhyFigures, ManyShortStopsAreACause) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].reason_ns[REASON_STOPPED] = 300 * ms;
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "stopped or traced, each time for less than 1.00ms");
  EXPECT_EQ(all.causes[0].total_ns, 300 * ms);
}

TEST(WhyFigures, AThreadThatIsStillStoppedIsNoSumOfShortStops) {
  Session session;
  session.threads.push_back(thread_of(10, 10, "app"));
  session.threads[0].reason_ns[REASON_STOPPED] = session.threads[0].open_ns = 1000 * ms;
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "stopped, and not continued");
  EXPECT_EQ(all.causes[0].kind, why_open);
  session.sides = {{.tid = 10, .words = "cgroup /a is frozen", .by = {}}};
  EXPECT_EQ(session.figures().causes[0].cause, "stopped, and not continued; cgroup /a is frozen");
}

TEST(WhyFigures, AProgramThatSleepsSaysSo) {
  Session session;
  session.threads.push_back(thread_of(10, 11, "sleep"));
  session.threads[0].reason_ns[REASON_SLEEP] = 900 * ms;
  EXPECT_EQ(session.figures().verdict.find("slept"), std::string::npos) << "a service may sleep";
  session.info.target.kind = "command";
  EXPECT_TRUE(session.figures().verdict.ends_with("sleep[11] slept for 900ms, as asked for."))
      << session.figures().verdict;
}

TEST(WhyFigures, ShortProcessesOfOneNameAddUp) {
  Session session;
  for (std::uint32_t pid = 1; pid <= 200; ++pid) {
    session.threads.push_back(thread_of(pid, pid, "stat"));
    session.threads.back().oncpu_ns = 2 * ms;
  }
  const WhyFigures all = session.figures();
  ASSERT_EQ(all.causes.size(), 1u);
  EXPECT_EQ(all.causes[0].cause, "on the CPU in 200 threads, 2.00ms each");
  EXPECT_EQ(all.causes[0].total_ns, 400 * ms);
}

TEST(WhyFigures, ThreadsOfManyProcessesWithOneNameAreOneGroup) {
  std::vector<OffcpuRow> threads;
  for (std::uint32_t pid = 1; pid <= 5; ++pid) threads.push_back(thread_of(pid, pid, "sh"));
  threads.push_back(thread_of(8, 8, "cron"));
  const auto groups = groups_of(threads);
  ASSERT_EQ(groups.size(), 2u);
  for (const OffcpuRow& group : groups)
    EXPECT_EQ(group.threads, group.comm == "sh" ? 5u : 1u) << group.comm;
}

}  // namespace
}  // namespace overdue::figures_test

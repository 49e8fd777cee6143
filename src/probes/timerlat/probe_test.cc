#include "probes/timerlat/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "kernel/session.h"
#include "probes/timerlat/threads.h"

namespace overdue {
namespace {

using testing::HasSubstr;

/// Has its own /proc and /sys.
class RealTimeBudget : public testing::Test {
 protected:
  RealTimeBudget() { std::filesystem::remove_all(folder_); }
  ~RealTimeBudget() override { std::filesystem::remove_all(folder_); }

  void say(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((folder_ / file).parent_path());
    std::ofstream(folder_ / file) << text << '\n';
  }
  std::string refusal() const {
    try {
      check_real_time_budget((folder_ / "proc").string(), (folder_ / "sys").string());
    } catch (const Error& error) {
      return std::string(error.what()) + " | " + error.hint();
    }
    return "";
  }

 private:
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("overdue_budget_test_" + std::to_string(getpid()));
};

TEST_F(RealTimeBudget, NoneOnTheMachine) {
  say("proc/sys/kernel/sched_rt_runtime_us", "0");
  EXPECT_THAT(refusal(), HasSubstr("kernel.sched_rt_runtime_us is 0 | sysctl"));
  say("proc/sys/kernel/sched_rt_runtime_us", "-1");
  EXPECT_EQ(refusal(), "");
  say("proc/sys/kernel/sched_rt_runtime_us", "950000");
  EXPECT_EQ(refusal(), "");
}

TEST_F(RealTimeBudget, NoneInOurCgroup) {
  say("proc/self/cgroup", "4:memory:/x\n3:cpu,cpuacct:/shop/desk\n0::/");
  EXPECT_EQ(refusal(), "");  // kernels without real-time group scheduling have no such file
  say("sys/fs/cgroup/cpu/shop/desk/cpu.rt_runtime_us", "10000");
  EXPECT_EQ(refusal(), "");
  say("sys/fs/cgroup/cpu/shop/desk/cpu.rt_runtime_us", "0");
  EXPECT_THAT(refusal(), HasSubstr("/fs/cgroup/cpu/shop/desk/cpu.rt_runtime_us is 0"));
}

class Timerlat : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "needs root";
  }
};

TEST_F(Timerlat, ThreadsEndByThemselvesWhereTheMachineStarves) {
  timerlat_slot slot{};
  const u32 stopping = 0;
  // The ordinary thread wakes up ten times a second, which is always too seldom for this limit.
  TimerThreads threads({.cpus = {0}, .starved_after = std::chrono::milliseconds(2)});
  threads.begin({&slot}, stopping);
  for (int i = 0; i < 500 && !threads.starved(); ++i) usleep(10'000);
  EXPECT_TRUE(threads.starved());
  threads.end();
}

TEST_F(Timerlat, ThreadsDoNotEndWhereItDoesNot) {
  timerlat_slot slot{};
  const u32 stopping = 0;
  TimerThreads threads({.cpus = {0}});
  threads.begin({&slot}, stopping);
  usleep(300'000);
  EXPECT_FALSE(threads.starved());
  EXPECT_NE(slot.tid, 0u);
  EXPECT_GT(slot.late_ns, 0u);
  threads.end();
}

TEST_F(Timerlat, ThreadsEndWhenAnActivationWasOverALimit) {
  timerlat_slot slot{};
  u32 stopping = 0;
  TimerThreads threads({.cpus = {0}});
  threads.begin({&slot}, stopping);
  u32 tid = 0;
  while ((tid = __atomic_load_n(&slot.tid, __ATOMIC_ACQUIRE)) == 0) usleep(10'000);
  usleep(50'000);
  const std::filesystem::path thread = "/proc/self/task/" + std::to_string(tid);
  EXPECT_TRUE(std::filesystem::exists(thread));
  __atomic_store_n(&stopping, 1, __ATOMIC_RELAXED);
  for (int i = 0; i < 500 && std::filesystem::exists(thread); ++i) usleep(10'000);
  EXPECT_FALSE(std::filesystem::exists(thread));
  const u64 last = __atomic_exchange_n(&slot.late_ns, 0, __ATOMIC_RELAXED);
  EXPECT_GT(last, 0u);
  usleep(50'000);
  EXPECT_EQ(__atomic_load_n(&slot.late_ns, __ATOMIC_RELAXED), 0u);  // no thread writes any more
}

/// A timer that did not expire leaves the latency of the previous activation as it is.
TEST_F(Timerlat, ThreadsWriteOnceForEachExpiry) {
  timerlat_slot slot{};
  const u32 stopping = 0;
  TimerThreads threads({.cpus = {0}});
  threads.begin({&slot}, stopping);
  while (__atomic_load_n(&slot.tid, __ATOMIC_ACQUIRE) == 0) usleep(10'000);
  usleep(50'000);
  EXPECT_EQ(slot.late_ns, 1u);  // no timer has expired yet
  const u64 missed_before = threads.missed()[0], wakings_before = threads.wakings()[0];
  EXPECT_GT(wakings_before, 0u);
  const u64 unlikely_ns = 3;
  __atomic_store_n(&slot.late_ns, 0, __ATOMIC_RELAXED);  // as the probe does at an expiry
  while (__atomic_load_n(&slot.late_ns, __ATOMIC_RELAXED) == 0) usleep(1'000);
  __atomic_store_n(&slot.late_ns, unlikely_ns, __ATOMIC_RELAXED);
  while (threads.wakings()[0] < wakings_before + 20) usleep(1'000);
  threads.end();
  EXPECT_EQ(slot.late_ns, unlikely_ns);
  EXPECT_GE(threads.missed()[0], missed_before + 10);
}

TEST_F(Timerlat, ThreadsOfCpusThatAreNotThereAreRefused) {
  try {
    TimerThreads threads({.cpus = {0, 4000}});
    FAIL() << "there is no CPU 4000 here";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("CPU 4000"));
  }
}

/// Every activation of a CPU is reported once and in order, and its moments follow one another.
TEST_F(Timerlat, TellsOfEveryActivation) {
  Session session({}, 1 << 20);
  auto made = std::make_unique<TimerlatProbe>(TimerlatOptions{}, session.membership().maps());
  TimerlatProbe& probe = *made;
  session.add(std::move(made));
  TimerThreads threads({.cpus = {0}});
  session.arm();
  constexpr Duration period = std::chrono::milliseconds(1);
  const KernelTime begin = KernelClock::now();
  const auto periods = [&] { return static_cast<u64>((KernelClock::now() - begin) / period); };
  threads.begin({&probe.slot(0)}, probe.stopping());
  while (periods() < 300 + threads.missed()[0]) usleep(10'000);
  threads.end();
  const u64 passed = periods();
  std::vector<timerlat_activation> seen;
  session.finish([&](const Record& record) { seen.push_back(record.as<timerlat_activation>()); });
  ASSERT_GT(seen.size(), 200u);
  EXPECT_LE(seen.size() + threads.missed()[0], passed);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].id, i + 1);
    EXPECT_LE(seen[i].expires_ns, seen[i].irq_ns);
    EXPECT_LE(seen[i].irq_ns, seen[i].header.time_ns);
    EXPECT_LE(seen[i].header.time_ns, seen[i].user_ns);
    EXPECT_EQ(seen[i].flags & (ACTIVATION_STOPPED | ACTIVATION_NO_CONTEXT), 0u);
  }
  EXPECT_GT(probe.counters()[COUNTER_RUNS], 4 * seen.size());
}

/// An idle CPU has events a period apart. The silences that the slot keeps are in order.
TEST_F(Timerlat, KeepsTheLatestSilences) {
  constexpr u64 long_ns = 300'000;
  Session session({}, 1 << 20);
  auto made = std::make_unique<TimerlatProbe>(TimerlatOptions{.silence_over = Duration(long_ns)},
                                              session.membership().maps());
  TimerlatProbe& probe = *made;
  session.add(std::move(made));
  TimerThreads threads({.cpus = {0}});
  session.arm();
  timerlat_slot& slot = probe.slot(0);
  const u64 begin_ns = KernelClock::now_ns();
  threads.begin({&slot}, probe.stopping());
  for (int i = 0; i < 1000 && __atomic_load_n(&slot.silences, __ATOMIC_RELAXED) < 10; ++i)
    usleep(10'000);
  threads.end();
  session.finish([](const Record&) {});
  const u64 end_ns = KernelClock::now_ns();
  ASSERT_GE(slot.silences, 10u);
  const timerlat_silence& last = slot.silence[(slot.silences - 1) % SILENCES_KEPT];
  const timerlat_silence& before = slot.silence[slot.silences % SILENCES_KEPT];
  for (const timerlat_silence& silence : slot.silence) {
    EXPECT_GE(silence.begin_ns, begin_ns);
    EXPECT_LE(silence.end_ns, end_ns);
    EXPECT_GE(silence.end_ns - silence.begin_ns, long_ns);
  }
  EXPECT_LE(before.end_ns, last.begin_ns);
}

}  // namespace
}  // namespace overdue

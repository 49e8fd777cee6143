#include "kernel/late_watch.h"

#include <gmock/gmock.h>
#include <sys/syscall.h>

#include <thread>

#include "kernel/child_fixture.h"

namespace overdue {
namespace {

constexpr std::uint32_t own_steps[] = {SYS_read, SYS_write};

class LateWatchTest : public KernelTest {
 protected:
  void SetUp() override {
    KernelTest::SetUp();
    if (IsSkipped()) return;
    if (const Support support = Kernel().tracepoint("raw_syscalls", "sys_enter"); !support.yes)
      GTEST_SKIP() << support.missing;
  }
  /// How often each number was seen; who called is checked.
  std::map<std::uint32_t, unsigned> seen(LateWatch& watch, std::uint32_t pid) {
    std::map<std::uint32_t, unsigned> count;
    dropped_ += watch.poll([&](const LateWatch::LateCall& call) {
      if (call.pid != pid) return;
      ++count[call.nr];
      tids_.insert(call.tid);
      EXPECT_GE(call.time, begin_);
      EXPECT_LE(call.time, KernelClock::now());
    });
    return count;
  }

  const KernelTime begin_ = KernelClock::now();
  std::set<std::uint32_t> tids_;
  std::uint64_t dropped_ = 0;
};

using Counts = std::map<std::uint32_t, unsigned>;

TEST_F(LateWatchTest, SeesEveryCallThatIsNotKnown) {
  Child child([](Child& self) {
    call_times(SYS_getppid, 10);
    call_times(SYS_getuid, 3);
    call_times(9'999, 2);
    self.step();
  });
  const std::uint32_t known[] = {SYS_read, SYS_write, SYS_getppid};
  LateWatch watch(false, known);
  watch.add_thread(child.pid());
  child.run_step();
  EXPECT_EQ(seen(watch, child.pid()), (Counts{{SYS_getuid, 3}, {9'999, 2}}));
  EXPECT_THAT(tids_, ::testing::ElementsAre(child.pid()));
  EXPECT_EQ(seen(watch, child.pid()), Counts{});
  EXPECT_EQ(dropped_, 0u);
}

TEST_F(LateWatchTest, ASecondWatchMayKnowMore) {
  Child child([](Child& self) {
    call_times(SYS_getuid, 3);
    self.step();
    call_times(SYS_getuid, 3);
    call_times(SYS_getgid, 1);
    self.step();
  });
  LateWatch watch(false, own_steps);
  watch.add_thread(child.pid());
  child.run_step();
  EXPECT_EQ(seen(watch, child.pid()), (Counts{{SYS_getuid, 3}}));
  const std::uint32_t more[] = {SYS_read, SYS_write, SYS_getuid};
  LateWatch second(false, more);
  second.add_thread(child.pid());
  child.run_step();
  EXPECT_EQ(seen(second, child.pid()), (Counts{{SYS_getgid, 1}}));
}

TEST_F(LateWatchTest, WatchesWhatAThreadStartsToo) {
  Shared<std::atomic<std::uint32_t>> thread;
  Shared<std::atomic<std::uint32_t>> process;
  Child child([&](Child& self) {
    std::thread([&] {
      *thread = this_tid();
      call_times(SYS_getuid, 5);
    }).join();
    const pid_t forked = fork();
    if (forked == 0) {
      *process = static_cast<std::uint32_t>(getpid());
      call_times(SYS_getgid, 7);
      _exit(0);
    }
    waitpid(forked, nullptr, 0);
    self.step();
  });
  LateWatch watch(false, own_steps);
  watch.add_thread(child.pid());
  child.run_step();
  std::map<std::pair<std::uint32_t, std::uint32_t>, unsigned> by_thread;
  watch.poll([&](const LateWatch::LateCall& call) { ++by_thread[{call.tid, call.nr}]; });
  EXPECT_EQ((by_thread[{*thread, SYS_getuid}]), 5u);
  EXPECT_EQ((by_thread[{*process, SYS_getgid}]), 7u);
}

TEST_F(LateWatchTest, SeesNobodyElse) {
  Child watched([](Child& self) {
    call_times(SYS_getuid, 3);
    self.step();
  });
  Child stranger([](Child& self) {
    call_times(SYS_getgid, 30);
    self.step();
  });
  LateWatch watch(false, own_steps);
  watch.add_thread(watched.pid());
  stranger.run_step();
  watched.run_step();
  std::set<std::uint32_t> pids;
  watch.poll([&](const LateWatch::LateCall& call) { pids.insert(call.pid); });
  EXPECT_THAT(pids, ::testing::ElementsAre(watched.pid()));
}

TEST_F(LateWatchTest, SeveralThreadsShareTheBuffers) {
  Child first([](Child& self) {
    call_times(SYS_getuid, 3);
    self.step();
  });
  Child second([](Child& self) {
    call_times(SYS_getuid, 4);
    self.step();
  });
  LateWatch watch(false, own_steps);
  watch.add_thread(first.pid());
  watch.add_thread(second.pid());
  first.run_step();
  second.run_step();
  std::map<std::uint32_t, unsigned> by_pid;
  watch.poll([&](const LateWatch::LateCall& call) { ++by_pid[call.pid]; });
  EXPECT_EQ(by_pid, (Counts{{first.pid(), 3}, {second.pid(), 4}}));
}

TEST_F(LateWatchTest, MachineWideSeesEverybody) {
  Child child([](Child& self) {
    call_times(SYS_getuid, 3);
    self.step();
  });
  // Everything but one number is known, or the others on this machine would fill the buffers.
  std::vector<std::uint32_t> known;
  for (std::uint32_t nr = 0; nr < 200; ++nr)
    if (nr != SYS_getuid) known.push_back(nr);
  LateWatch watch(true, known);
  child.run_step();
  EXPECT_EQ(seen(watch, child.pid())[SYS_getuid], 3u);
}

TEST_F(LateWatchTest, EveryNumberThereIsCanBeKnown) {
  std::vector<std::uint32_t> known;
  for (std::uint32_t nr = 0; nr < 512; ++nr)
    if (nr != SYS_getuid) known.push_back(nr);
  Child child([](Child& self) {
    call_times(SYS_getuid, 3);
    call_times(SYS_getgid, 3);
    self.step();
  });
  LateWatch watch(false, known);
  watch.add_thread(child.pid());
  child.run_step();
  EXPECT_EQ(seen(watch, child.pid()), (Counts{{SYS_getuid, 3}}));
}

TEST_F(LateWatchTest, AThreadThatIsGoneIsNoError) {
  std::uint32_t gone = 0;
  {
    Child child([](Child&) {});
    gone = child.pid();
    child.go();
    child.end();
  }
  LateWatch watch(false, own_steps);
  EXPECT_NO_THROW(watch.add_thread(gone));
  EXPECT_EQ(seen(watch, gone), Counts{});
}

TEST_F(LateWatchTest, WhatFindsNoRoomIsSaidToBeDropped) {
  constexpr unsigned calls = 20'000;
  Child child([](Child& self) {
    run_on_cpu(0);
    call_times(SYS_getuid, calls);
    self.step();
    call_times(SYS_getuid, 1);
    self.step();
  });
  LateWatch watch(false, own_steps);
  watch.add_thread(child.pid());
  child.run_step();
  unsigned counted = seen(watch, child.pid())[SYS_getuid];
  EXPECT_LT(counted, calls);
  child.run_step();  // the kernel says what it dropped with the next record
  counted += seen(watch, child.pid())[SYS_getuid];
  EXPECT_EQ(counted + dropped_, calls + 1);
}

}  // namespace
}  // namespace overdue

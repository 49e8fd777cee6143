#include "kernel/membership.h"

#include <gtest/gtest.h>

#include <chrono>
#include <ctime>
#include <fstream>
#include <thread>
#include <vector>

#include "kernel/child_fixture.h"
#include "target/cgroups.h"

namespace overdue {
namespace {

using MembershipTest = KernelTest;

bool is_member(const Membership& membership, std::uint32_t tid) {
  for (const member& thread : membership.members())
    if (thread.tid == tid) return true;
  return false;
}

/// A child that starts a thread, then a process, and waits for the end of each.
struct Family {
  struct Ids {
    std::atomic<std::uint32_t> thread, grandchild, thread_of_grandchild;
  };
  Shared<Ids> ids;
  Child child;

  explicit Family(const std::string& comm = "family")
      : child(
            [this](Child& self) {
              std::thread([&] {
                ids->thread = this_tid();
                self.step();
                if (fork() == 0) {
                  prctl(PR_SET_PDEATHSIG, SIGKILL);
                  ids->grandchild = this_tid();
                  std::thread([&] {
                    ids->thread_of_grandchild = this_tid();
                    self.step();
                  }).join();
                  _exit(0);
                }
                pause();
              }).join();
            },
            comm) {}
  void start_thread() { child.run_step(); }
  void start_process() { child.run_step(); }
};

TEST_F(MembershipTest, AProcessIsAllItsThreadsAndWhatTheyStart) {
  Family family;
  Child stranger([](Child&) { pause(); });
  family.start_thread();
  MembershipRules rules;
  rules.pids = {family.child.pid()};
  Membership membership(rules, 0);
  EXPECT_TRUE(membership.members().empty());
  membership.adopt_existing();
  EXPECT_TRUE(is_member(membership, family.child.pid()));
  EXPECT_TRUE(is_member(membership, family.ids->thread));
  family.start_process();
  EXPECT_TRUE(is_member(membership, family.ids->grandchild));
  EXPECT_TRUE(is_member(membership, family.ids->thread_of_grandchild));
  EXPECT_FALSE(is_member(membership, stranger.pid()));
  EXPECT_FALSE(is_member(membership, this_tid()));
  EXPECT_EQ(membership.members().size(), 4u);
  membership.adopt_existing();  // changes nothing
  EXPECT_EQ(membership.members().size(), 4u);
}

TEST_F(MembershipTest, WithoutFollowingAProcessIsItsThreadsOnly) {
  Family family;
  MembershipRules rules;
  rules.pids = {family.child.pid()};
  rules.follow_children = false;
  Membership membership(rules, 0);
  membership.adopt_existing();
  family.start_thread();
  EXPECT_TRUE(is_member(membership, family.ids->thread));  // a later thread of the process
  family.start_process();
  EXPECT_FALSE(is_member(membership, family.ids->grandchild));
  EXPECT_FALSE(is_member(membership, family.ids->thread_of_grandchild));
}

TEST_F(MembershipTest, AThreadIsThatThreadAndWhatItStarts) {
  for (const bool follow : {true, false}) {
    Family family;
    family.start_thread();
    MembershipRules rules;
    rules.tids = {family.ids->thread};
    rules.follow_children = follow;
    Membership membership(rules, 0);
    membership.adopt_existing();
    EXPECT_TRUE(is_member(membership, family.ids->thread));
    EXPECT_FALSE(is_member(membership, family.child.pid()));
    family.start_process();
    EXPECT_EQ(is_member(membership, family.ids->grandchild), follow);
    EXPECT_EQ(is_member(membership, family.ids->thread_of_grandchild), follow);
  }
}

TEST_F(MembershipTest, NamesMatchNowAndAfterARename) {
  Child matching([](Child&) { pause(); }, "ovd-match-1");
  Child renamed(
      [](Child& self) {
        prctl(PR_SET_NAME, "ovd-match-2");
        self.step();
        prctl(PR_SET_NAME, "something else");
        self.step();
      },
      "ovd-other");
  Child almost([](Child&) { pause(); }, "xovd-match-1");
  MembershipRules rules;
  rules.name_globs = {"no-such-name", "ovd-m*-?"};
  Membership membership(rules, 0);
  membership.adopt_existing();
  EXPECT_TRUE(is_member(membership, matching.pid()));
  EXPECT_FALSE(is_member(membership, renamed.pid()));
  renamed.run_step();
  EXPECT_TRUE(is_member(membership, renamed.pid()));
  renamed.run_step();
  EXPECT_TRUE(is_member(membership, renamed.pid()));  // members stay members
  EXPECT_FALSE(is_member(membership, almost.pid()));
}

TEST_F(MembershipTest, TooManyOrTooLongNamesAreRefused) {
  MembershipRules rules;
  rules.name_globs.assign(TARGET_GLOBS + 1, "x");
  EXPECT_THROW(Membership(rules, 0), Error);
  rules.name_globs = {std::string(100, 'x')};
  EXPECT_THROW(Membership(rules, 0), Error);
  rules.name_globs.clear();
  rules.cgroup_ids.assign(TARGET_CGROUPS + 1, 1);
  EXPECT_THROW(Membership(rules, 0), Error);
}

/// A process of two threads; the second one publishes its tid.
struct TwoThreads {
  Shared<std::atomic<std::uint32_t>> second;
  Child child{[this](Child& self) {
                std::thread([&] {
                  *second = this_tid();
                  self.step();
                  pause();
                }).join();
              },
              "two-threads"};

  TwoThreads() { child.run_step(); }
};

/// In a hierarchy: processes in a cgroup, below it, moved into it, or in a cgroup made later.
void check_cgroups_of(const CgroupHierarchy& hierarchy) {
  SCOPED_TRACE(hierarchy.description());
  const TestCgroup cgroup(hierarchy.mount_point / fmt::format("overdue-test-{}", getpid()));
  const TestCgroup beside(hierarchy.mount_point / fmt::format("overdue-test-{}-b", getpid()));
  const auto target = Cgroups().try_find(cgroup.directory().string());
  ASSERT_TRUE(target.has_value());
  ASSERT_EQ(target->hierarchy_id, hierarchy.id);
  const TestCgroup* below = nullptr;
  std::unique_ptr<TestCgroup> made_later;
  Family inside("inside");
  Child outside([](Child&) { pause(); }, "outside");
  Child moves_in([](Child&) { pause(); }, "moves-in");
  Child moves_below([](Child&) { pause(); }, "moves-below");
  TwoThreads both_move;
  cgroup.add(inside.child.pid());
  beside.add(outside.pid());
  MembershipRules rules;
  rules.cgroup_ids = {target->id};
  rules.cgroup_hierarchy = target->hierarchy_id;
  Membership membership(rules, 0);
  membership.adopt_existing();
  EXPECT_TRUE(is_member(membership, inside.child.pid()));
  EXPECT_FALSE(is_member(membership, outside.pid()));
  EXPECT_FALSE(is_member(membership, moves_in.pid()));
  inside.start_thread();
  inside.start_process();
  EXPECT_TRUE(is_member(membership, inside.ids->grandchild));
  cgroup.add(moves_in.pid());
  EXPECT_TRUE(is_member(membership, moves_in.pid()));
  made_later = std::make_unique<TestCgroup>(cgroup.directory() / "later");
  below = made_later.get();
  below->add(moves_below.pid());
  EXPECT_TRUE(is_member(membership, moves_below.pid()));
  EXPECT_FALSE(is_member(membership, outside.pid()));
  EXPECT_EQ(membership.members().size(), 6u);
  cgroup.add(both_move.child.pid());
  membership.follow_moves();
  EXPECT_TRUE(is_member(membership, both_move.child.pid()));
  EXPECT_TRUE(is_member(membership, *both_move.second));
  EXPECT_EQ(membership.members().size(), 8u);
  below->add(moves_in.pid());  // still inside
  beside.add(moves_below.pid());
  beside.add(both_move.child.pid());
  membership.follow_moves();
  EXPECT_TRUE(is_member(membership, moves_in.pid()));
  EXPECT_FALSE(is_member(membership, moves_below.pid()));
  EXPECT_FALSE(is_member(membership, both_move.child.pid()));
  EXPECT_FALSE(is_member(membership, *both_move.second));
  EXPECT_EQ(membership.members().size(), 5u);
  below->add(moves_below.pid());
  EXPECT_TRUE(is_member(membership, moves_below.pid()));
}

TEST_F(MembershipTest, ACgroupIsAllBelowItAndAllThatComesLater) {
  const Cgroups cgroups;
  std::vector<std::string> tried;
  for (const CgroupHierarchy& hierarchy : cgroups.hierarchies()) {
    // Of version 1, only hierarchies that accept processes without settings.
    if (!hierarchy.v2 && hierarchy.controllers != "pids" && hierarchy.controllers != "freezer")
      continue;
    if (access(hierarchy.mount_point.c_str(), W_OK) != 0) continue;
    check_cgroups_of(hierarchy);
    tried.push_back(hierarchy.description());
  }
  if (tried.empty()) GTEST_SKIP() << "no cgroup hierarchy that can be written to";
}

TEST_F(MembershipTest, CpuTimeIsCountedFromAdoptionOn) {
  constexpr std::uint64_t ms = 1'000'000;
  const auto burn = [](std::uint64_t ns) {
    timespec now{};
    const auto used = [&] {
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
      return static_cast<std::uint64_t>(now.tv_sec) * 1'000 * ms +
             static_cast<std::uint64_t>(now.tv_nsec);
    };
    for (const std::uint64_t begin = used(); used() - begin < ns;) continue;
  };
  Child child([&](Child& self) {
    burn(200 * ms);
    self.step();
    burn(20 * ms);
    std::thread([&] { burn(20 * ms); }).join();
    self.step();
  });
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  clockid_t clock{};
  ASSERT_EQ(clock_getcpuclockid(static_cast<pid_t>(child.pid()), &clock), 0);
  const auto used_ns = [&] {
    timespec used{};
    clock_gettime(clock, &used);
    return static_cast<std::uint64_t>(used.tv_sec) * 1'000 * ms +
           static_cast<std::uint64_t>(used.tv_nsec);
  };
  const std::uint64_t before_ns = used_ns();
  membership.adopt_existing();
  child.run_step();
  // The time since the thread's last tick is counted a grace period after its end.
  for (int tries = 0; tries < 1'000 && membership.cpu_use().time_ns < 36 * ms; ++tries)
    usleep(10'000);
  const std::uint64_t counted_ns = membership.cpu_use().time_ns;
  EXPECT_GE(counted_ns, 36 * ms);
  // Earlier time is not counted. The clock of the process excludes the time of an exiting thread
  // after the thread has been removed from the process.
  EXPECT_LE(counted_ns, used_ns() - before_ns + ms);
}

TEST_F(MembershipTest, CountsHowOftenTheTargetLeftTheCpu) {
  const auto nap = [](int times, int us) {
    for (int i = 0; i < times; ++i) std::this_thread::sleep_for(std::chrono::microseconds(us));
  };
  // A thread whose timer expires before the context switch does not leave the CPU: a slow machine
  // needs longer naps.
  Child child([&](Child& self) {
    nap(1'000, 100);
    self.step();
    nap(100, 2'000);
    std::thread([&] { nap(100, 2'000); }).join();
    self.step();
  });
  child.run_step();
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  membership.adopt_existing();
  child.run_step();
  EXPECT_GE(membership.cpu_use().departures, 200U);
  EXPECT_LT(membership.cpu_use().departures, 1'000U);  // without the switches before adoption
}

/// The CPU time that the kernel has accounted to a thread, in ns.
std::uint64_t accounted_ns(std::uint32_t tid) {
  std::ifstream file(fmt::format("/proc/{}/schedstat", tid));
  std::uint64_t ns = 0;
  file >> ns;
  return ns;
}

void burn_ms(int ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
  while (std::chrono::steady_clock::now() < end) continue;
}

bool is_zombie(std::uint32_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string id, name, state;
  return file >> id >> name >> state && state == "Z";
}

TEST_F(MembershipTest, AnEndedProcessThatNobodyWaitsForIsCountedOnce) {
  Child child([](Child&) { burn_ms(50); });
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  const std::uint64_t before = accounted_ns(child.pid());
  membership.adopt_existing();
  child.go();
  while (!is_zombie(child.pid())) usleep(1'000);
  const std::uint64_t used = membership.cpu_use().time_ns;
  EXPECT_GT(used, 0u);
  EXPECT_LE(used, accounted_ns(child.pid()) - before);
}

TEST_F(MembershipTest, ThreadsThatEndWithinATickAreCounted) {
  Child child([](Child& self) {
    for (int i = 0; i < 200; ++i)
      std::thread([] {
        for (volatile int turn = 0; turn < 100'000;) turn = turn + 1;
      }).join();
    self.step();
  });
  clockid_t clock{};
  ASSERT_EQ(clock_getcpuclockid(static_cast<pid_t>(child.pid()), &clock), 0);
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  membership.adopt_existing();
  timespec before{}, after{};
  clock_gettime(clock, &before);
  child.run_step();
  clock_gettime(clock, &after);
  const auto used = static_cast<std::uint64_t>((after.tv_sec - before.tv_sec) * 1'000'000'000 +
                                               after.tv_nsec - before.tv_nsec);
  // The last thread is freed a grace period after its end.
  for (int tries = 0; tries < 1'000 && membership.cpu_use().time_ns < used / 10 * 9; ++tries)
    usleep(10'000);
  EXPECT_GE(membership.cpu_use().time_ns, used / 10 * 9);
}

TEST_F(MembershipTest, WhatHasEndedIsNotAdopted) {
  Child child([](Child&) {});
  child.go();
  while (!is_zombie(child.pid())) usleep(1'000);
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  membership.adopt_existing();
  EXPECT_TRUE(membership.members().empty());
}

}  // namespace
}  // namespace overdue

#include "kernel/session.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "kernel/child_fixture.h"
#include "target/cgroups.h"

namespace overdue {
namespace {

using MembershipTest = KernelTest;
using SessionTest = KernelTest;

bool is_member(const Membership& membership, std::uint32_t tid) {
  for (const member& thread : membership.living())
    if (thread.tid == tid) return true;
  return false;
}

/// A child that starts a thread, then a process, each waiting for its end.
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
  EXPECT_TRUE(membership.living().empty());
  membership.adopt_existing();
  EXPECT_TRUE(is_member(membership, family.child.pid()));
  EXPECT_TRUE(is_member(membership, family.ids->thread));
  family.start_process();
  EXPECT_TRUE(is_member(membership, family.ids->grandchild));
  EXPECT_TRUE(is_member(membership, family.ids->thread_of_grandchild));
  EXPECT_FALSE(is_member(membership, stranger.pid()));
  EXPECT_FALSE(is_member(membership, this_tid()));
  EXPECT_EQ(membership.living().size(), 4u);
  membership.adopt_existing();  // changes nothing
  EXPECT_EQ(membership.living().size(), 4u);
  EXPECT_EQ(membership.counters()[COUNTER_THREADS], 4u);
}

TEST_F(MembershipTest, WithoutFollowingAProcessIsItsThreadsOnly) {
  Family family;
  MembershipRules rules;
  rules.pids = {family.child.pid()};
  rules.follow_children = false;
  Membership membership(rules, 0);
  membership.adopt_existing();
  family.start_thread();
  EXPECT_TRUE(is_member(membership, family.ids->thread));  // a later thread is still the process
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

/// In a hierarchy: who is in a cgroup, below it, moves in, or comes into a cgroup made later.
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
  EXPECT_EQ(membership.living().size(), 6u);
}

TEST_F(MembershipTest, ACgroupIsAllBelowItAndAllThatComesLater) {
  const Cgroups cgroups;
  std::vector<std::string> tried;
  for (const CgroupHierarchy& hierarchy : cgroups.hierarchies()) {
    // Of version 1: hierarchies that need no settings before a process may be moved in.
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
  MembershipRules rules;
  rules.pids = {child.pid()};
  Membership membership(rules, 0);
  membership.adopt_existing();
  child.run_step();
  EXPECT_GE(membership.cpu_time_ns(), 36 * ms);
  EXPECT_LT(membership.cpu_time_ns(), 180 * ms);  // none of what it had used before
}

/// Says what the session asks of it.
class RecordingProbe final : public LiveProbe {
 public:
  RecordingProbe(std::vector<std::string>& log, const session_control& control)
      : log_(log), control_(control) {}
  void drain_cells(std::uint32_t epoch, KernelTime, const RecordHandler&) override {
    EXPECT_EQ(epoch, control_.epoch);  // programs already write to the other half
    log_.push_back("drain");
  }
  double fill(std::uint32_t) const override { return full ? 1 : 0; }
  void finish(const RecordHandler&) override {
    EXPECT_EQ(control_.armed, 0u);
    log_.push_back("finish");
  }
  const Schema* schema(std::uint16_t) const override { return nullptr; }
  Counters counters() const override {
    return {{COUNTER_RING_FULL, 1},
            {COUNTER_CELLS_FULL, 2},
            {COUNTER_TASK_STORAGE, 3},
            {COUNTER_UNMATCHED, 5},
            {COUNTER_CUT, 6}};
  }
  void begin_calibration() override { log_.push_back("begin_calibration"); }
  void end_calibration() override { log_.push_back("end_calibration"); }

  bool full = false;

 private:
  std::vector<std::string>& log_;
  const session_control& control_;
};

TEST_F(SessionTest, AsksItsProbesInOrder) {
  std::vector<std::string> log;
  Session session({}, 0);
  const session_control& control = session.membership().control();
  auto probe = std::make_unique<RecordingProbe>(log, control);
  RecordingProbe& asked = *probe;
  session.add(std::move(probe));
  const RecordHandler nobody = [](const Record&) { FAIL() << "nothing was measured"; };
  session.calibrate(time_getppid());
  EXPECT_THAT(log, ::testing::ElementsAre("begin_calibration", "drain", "end_calibration"));
  EXPECT_EQ(control.armed, 0u);
  const KernelTime before = KernelClock::now();
  session.arm();
  EXPECT_EQ(control.armed, 1u);
  EXPECT_GE(session.start(), before);
  EXPECT_LE(session.start(), KernelClock::now());
  EXPECT_FALSE(session.cells_are_filling());
  asked.full = true;
  EXPECT_TRUE(session.cells_are_filling());
  EXPECT_FALSE(session.rings_are_filling());  // there are none
  EXPECT_EQ(session.poll(nobody), 0u);
  const u32 epoch = control.epoch;
  log.clear();
  session.collect(nobody);
  EXPECT_EQ(control.epoch, epoch + 1);
  session.finish(nobody);
  EXPECT_THAT(log, ::testing::ElementsAre("drain", "finish", "drain"));
}

TEST_F(SessionTest, TheReceiptSaysWhatWasLostAndWhy) {
  std::vector<std::string> log;
  Session session({}, 0);
  EXPECT_TRUE(session.receipt().lost_by.empty());
  for (int probes = 0; probes < 2; ++probes)
    session.add(std::make_unique<RecordingProbe>(log, session.membership().control()));
  const Receipt receipt = session.receipt();
  const std::map<std::string, std::uint64_t> expected{
      {"ring_full", 2}, {"cells_full", 4}, {"task_storage", 6}};
  EXPECT_EQ(receipt.lost_by, expected);
  EXPECT_EQ(receipt.unmatched, 10u);
  EXPECT_EQ(receipt.cut, 12u);
}

TEST_F(SessionTest, LeavesNothingInTheKernel) {
  const std::size_t before = own_bpf_objects().size();
  BpfObjects during;
  {
    MembershipRules rules;
    rules.all = true;
    Session session(rules, 1 << 16);
    session.arm();
    during = own_bpf_objects();
  }
  EXPECT_GE(during.size(), 10u);
  EXPECT_EQ(own_bpf_objects().size(), before);
  EXPECT_EQ(still_held(during), 0u);
}

TEST_F(SessionTest, WaitingForRunningProgramsEnds) {
  const KernelTime before = KernelClock::now();
  wait_for_running_programs();
  EXPECT_LT(KernelClock::now() - before, std::chrono::seconds(10));
}

}  // namespace
}  // namespace overdue

#include "target/selection.h"

#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "target/cpu_list.h"
#include "target/fake_tree.h"
#include "target/proc.h"

namespace overdue {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Failure {
  std::string message;
  std::string hint;
  int status = 0;
};

Failure failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return {error.what(), error.hint(), error.exit_status()};
  }
  return {"nothing was thrown", "", -1};
}

class SelectionTest : public testing::Test {
 protected:
  SelectionTest() {
    sources_.proc = tree_ / "proc";
    sources_.sys = tree_ / "sys";
    sources_.containers = {tree_ / "docker", tree_ / "podman"};
    sources_.own_pid = 900;
    tree_.file("proc/sys/kernel/pid_max", "32768\n");
    tree_.file("sys/devices/system/cpu/possible", "0-3,6\n");
    tree_.thread({.tid = 1, .parent = 0, .comm = "systemd"});
    tree_.thread({.tid = 2, .parent = 0, .kernel = true, .comm = "kthreadd"});
    tree_.thread({.tid = 100, .comm = "redis-server"});
    tree_.thread({.tid = 101, .pid = 100, .comm = "bio_close_file"});
    tree_.thread({.tid = 900, .comm = "overdue"});
  }

  TargetSelection parse(const TargetOptions& options) const {
    return parse_target(options, sources_);
  }
  ResolvedTarget resolve(const TargetOptions& options) const {
    return resolve_target(parse(options), sources_);
  }
  Failure failure(const TargetOptions& options) const {
    return failure_of([&] { resolve(options); });
  }

  FakeTree tree_;
  TargetSources sources_;
};

TEST_F(SelectionTest, PidsByCommaAndRepetitionAreSortedAndUnique) {
  const auto target = resolve({.pids = {"100,1", "100"}});
  EXPECT_THAT(target.pids, ElementsAre(1, 100));
  EXPECT_THAT(resolve({.pids = {"100\n1\n"}}).pids, ElementsAre(1, 100)) << "as pgrep prints them";
  EXPECT_THAT(target.notes, IsEmpty());
  EXPECT_EQ(target.info.kind, "pid");
  EXPECT_THAT(target.info.values, ElementsAre("1", "100"));
  EXPECT_THAT(target.info.pids, ElementsAre(1, 100));
  EXPECT_TRUE(target.info.follows_children);
}

TEST_F(SelectionTest, NoTargetAndTwoKindsOfTargetAreUsageErrors) {
  EXPECT_EQ(failure({}).status, 2);
  EXPECT_THAT(failure({}).hint, HasSubstr("-p PID"));
  const auto two = failure({.pids = {"1"}, .all = true});
  EXPECT_EQ(two.status, 2);
  EXPECT_THAT(two.message, HasSubstr("pid and all"));
}

TEST_F(SelectionTest, UserNeedsAProgram) {
  EXPECT_EQ(failure({.pids = {"1"}, .user = "nobody"}).status, 2);
  const auto selection = parse({.user = "nobody", .command = {"ls", "-l"}});
  EXPECT_EQ(selection.user, "nobody");
  EXPECT_THAT(selection.argv, ElementsAre("ls", "-l"));
  EXPECT_EQ(selection.kind, TargetKind::command);
}

TEST_F(SelectionTest, CpuAloneMeansEverythingThere) {
  const auto target = parse({.cpus = "1-2,6"});
  EXPECT_EQ(target.kind, TargetKind::all);
  EXPECT_THAT(target.cpus, ElementsAre(1, 2, 6));
  EXPECT_EQ(target.cpus_text, "1-2,6");
}

TEST_F(SelectionTest, MalformedPidsAreUsageErrors) {
  for (const std::string text : {"x", "12x", "-1", "", ",", " ", "0", "0x10", "1.5"})
    EXPECT_EQ(failure({.pids = {text}}).status, 2) << "'" << text << "'";
  EXPECT_THAT(failure({.pids = {"redis"}}).hint, HasSubstr("-n"));
}

TEST_F(SelectionTest, MissingProcessSaysSo) {
  const auto missing = failure({.pids = {"12345"}});
  EXPECT_EQ(missing.status, 1);
  EXPECT_THAT(missing.message, HasSubstr("no process 12345: "));
  EXPECT_THAT(missing.hint, HasSubstr("ps"));
  const auto thread = failure({.tids = {"12345"}});
  EXPECT_EQ(thread.status, 1);
  EXPECT_THAT(thread.message, HasSubstr("no thread 12345: "));
}

TEST_F(SelectionTest, PidsBeyondTheLimitNameTheLimit) {
  EXPECT_THAT(failure({.pids = {"32768"}}).message, HasSubstr("end at 32767"));
  EXPECT_EQ(failure({.pids = {"32768"}}).status, 1);
  EXPECT_EQ(failure({.pids = {"99999999999"}}).status, 1);
}

TEST_F(SelectionTest, ThreadGivenAsProcessNamesItsProcess) {
  const auto thread = failure({.pids = {"101"}});
  EXPECT_EQ(thread.status, 2);
  EXPECT_THAT(thread.message,
              HasSubstr("101 (bio_close_file) is a thread of process 100 (redis-server)"));
  EXPECT_THAT(thread.hint, HasSubstr("-t 101"));
  EXPECT_THAT(resolve({.tids = {"101"}}).tids, ElementsAre(101));
}

TEST_F(SelectionTest, ZombieIsNamedWithItsParent) {
  tree_.thread({.tid = 200, .parent = 100, .state = 'Z', .comm = "gone"});
  const auto zombie = failure({.pids = {"200"}});
  EXPECT_EQ(zombie.status, 1);
  EXPECT_THAT(zombie.message,
              HasSubstr("200 (gone) has exited and is waiting for its parent 100 (redis-server)"));
  EXPECT_EQ(failure({.tids = {"200"}}).status, 1);
}

TEST_F(SelectionTest, ProcessWhoseMainThreadEndedIsAlive) {
  tree_.thread({.tid = 200, .state = 'Z', .comm = "main-ended"});
  tree_.thread({.tid = 201, .pid = 200, .comm = "still-here"});
  EXPECT_THAT(resolve({.pids = {"200"}}).pids, ElementsAre(200));
}

TEST_F(SelectionTest, OurselvesAreRefusedAndInitIsNot) {
  const auto own = failure({.pids = {"900"}});
  EXPECT_EQ(own.status, 2);
  EXPECT_THAT(own.message, HasSubstr("overdue itself"));
  EXPECT_EQ(failure({.tids = {"900"}}).status, 2);
  EXPECT_THAT(resolve({.pids = {"1"}}).pids, ElementsAre(1));
}

TEST_F(SelectionTest, KernelThreadIsAllowedWithANote) {
  const auto target = resolve({.pids = {"2"}});
  EXPECT_THAT(target.pids, ElementsAre(2));
  ASSERT_EQ(target.notes.size(), 1u);
  EXPECT_THAT(target.notes[0], HasSubstr("kernel thread"));
}

TEST_F(SelectionTest, HostileNamesNeverReachTheMessageRaw) {
  const std::string hostile = "a\n\x1b[2Jx) R 1";
  tree_.thread({.tid = 300, .parent = 100, .state = 'Z', .comm = hostile});
  const auto zombie = failure({.pids = {"300"}});
  EXPECT_THAT(zombie.message, HasSubstr("a\\n\\x1b[2Jx) R 1"));
  EXPECT_THAT(zombie.message, Not(HasSubstr("\x1b")));
  EXPECT_THAT(zombie.message, Not(HasSubstr("\n")));
  EXPECT_EQ(Proc(sources_.proc).thread(300)->comm, hostile);
  EXPECT_FALSE(Proc(sources_.proc).thread(300)->kernel_thread);
}

TEST_F(SelectionTest, NamesMatchProcessesAndThreads) {
  tree_.thread({.tid = 400, .comm = "redis-server"});
  const auto target = resolve({.names = {"redis*,bio_*"}});
  EXPECT_THAT(target.pids, ElementsAre(100, 400));  // thread 101 comes with its process
  EXPECT_THAT(target.tids, IsEmpty());
  EXPECT_THAT(target.notes, IsEmpty());
  EXPECT_THAT(resolve({.names = {"bio_*"}}).tids, ElementsAre(101));
  EXPECT_THAT(resolve({.names = {"overdue"}}).pids, IsEmpty());
}

TEST_F(SelectionTest, LongProgramNamesMatchByTheirFullName) {
  tree_.thread({.tid = 500,
                .comm = "systemd-resolve",
                .command_line = std::string("/lib/systemd-resolved\0-x", 24)});
  EXPECT_THAT(resolve({.names = {"systemd-resolved"}}).pids, ElementsAre(500));
}

TEST_F(SelectionTest, NameThatMatchesNothingIsANoteWithASuggestion) {
  const auto target = resolve({.names = {"redis-servr"}});
  EXPECT_THAT(target.pids, IsEmpty());
  ASSERT_EQ(target.notes.size(), 1u);
  EXPECT_THAT(target.notes[0], HasSubstr("'redis-server'"));
}

TEST_F(SelectionTest, CgroupsAreSplitAtCommasUnlessTheWholeExists) {
  tree_.directory("cgroup/cpu,cpuacct/web");
  tree_.directory("cgroup/cpu,cpuacct/db");
  tree_.file("proc/self/mountinfo",
             fmt::format("32 31 0:29 / {} rw - cgroup cgroup rw,cpu,cpuacct\n",
                         (tree_ / "cgroup/cpu,cpuacct").native()));
  tree_.file("proc/self/cgroup", "1:cpu,cpuacct:/\n");
  EXPECT_EQ(resolve({.cgroups = {"web,/db"}}).cgroups.size(), 2u);
  EXPECT_EQ(resolve({.cgroups = {(tree_ / "cgroup/cpu,cpuacct/web").native()}}).cgroups.size(), 1u);
  EXPECT_EQ(failure({.cgroups = {"web,absent"}}).status, 1);
  EXPECT_EQ(failure({.cgroups = {"web/../db"}}).status, 2);
}

TEST_F(SelectionTest, ThreadsAreListedInOrder) {
  tree_.thread({.tid = 99, .pid = 100});
  EXPECT_THAT(threads_of(100, sources_), ElementsAre(99, 100, 101));
  EXPECT_THAT(threads_of(777, sources_), IsEmpty());
}

TEST(RealProcTest, KnowsThisProcess) {
  const auto own = static_cast<std::uint32_t>(getpid());
  const auto status = Proc().thread(own);
  ASSERT_TRUE(status);
  EXPECT_EQ(status->pid, own);
  EXPECT_EQ(status->parent_pid, static_cast<std::uint32_t>(getppid()));
  EXPECT_FALSE(status->kernel_thread);
  EXPECT_EQ(Proc().program_name(own), "target_test");
  EXPECT_THAT(threads_of(own), testing::Contains(own));
  EXPECT_EQ(
      failure_of([&] { resolve_target(parse_target({.pids = {std::to_string(own)}})); }).status, 2);
  EXPECT_TRUE(watch_process(own));
  EXPECT_FALSE(watch_process(0x7ffffff0));
}

TEST(CpuListTest, ReadsListsAndRanges) {
  const std::vector<std::uint32_t> possible{0, 1, 2, 3, 6};
  EXPECT_THAT(parse_cpu_list("0-3,6", possible), ElementsAre(0, 1, 2, 3, 6));
  EXPECT_THAT(parse_cpu_list("6,0,0-1", possible), ElementsAre(0, 1, 6));
  EXPECT_EQ(format_cpu_list(possible), "0-3,6");
  EXPECT_EQ(format_cpu_list({}), "");
}

TEST(CpuListTest, BadListsAreUsageErrors) {
  const std::vector<std::uint32_t> possible{0, 1, 2, 3, 6};
  for (const std::string text :
       {"", ",", "0,", ",0", "0,,1", "3-1", "a", "0-", "-3", "0-1-2", " 0", "0x1", "99999999999"}) {
    const auto bad = failure_of([&] { parse_cpu_list(text, possible); });
    EXPECT_EQ(bad.status, 2) << "'" << text << "'";
    EXPECT_THAT(bad.message, HasSubstr("not a CPU list")) << "'" << text << "'";
  }
}

TEST(CpuListTest, AbsentCpusNameTheRange) {
  const std::vector<std::uint32_t> possible{0, 1, 2, 3, 6};
  for (const std::string text : {"4", "0-4", "3-4294967295", "5-6", "7"}) {
    const auto absent = failure_of([&] { parse_cpu_list(text, possible); });
    EXPECT_EQ(absent.status, 2) << text;
    EXPECT_THAT(absent.message, HasSubstr("this machine has CPUs 0-3,6")) << text;
  }
  EXPECT_THAT(failure_of([&] { parse_cpu_list("0-4", possible); }).message, HasSubstr("no CPU 4"));
  EXPECT_THAT(failure_of([&] { parse_cpu_list("5-6", possible); }).message, HasSubstr("no CPU 5"));
}

}  // namespace
}  // namespace overdue

#include "report/profile/profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "flame/folded.h"
#include "report/profile/sections.h"

namespace overdue::profile_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

StackFrame user(std::string name, std::string module = "/bin/server") {
  return {.name = std::move(name), .module = std::move(module)};
}
StackFrame kernel(std::string name) {
  return {.name = std::move(name), .module = "[kernel]", .is_kernel = true};
}

profile_sample sample(u32 tid, std::string_view comm = "worker") {
  profile_sample taken{};
  taken.header.pid = 10;
  taken.header.tid = tid;
  std::memcpy(taken.header.comm, comm.data(), comm.size());
  std::memcpy(taken.process, "server", 6);
  return taken;
}

std::string folded(const Profile& profile) {
  std::string text;
  append_folded(text, profile.tree());
  return text;
}

const ProfiledFunction& named(const std::vector<ProfiledFunction>& all, std::string_view name) {
  static const ProfiledFunction none;
  for (const ProfiledFunction& one : all)
    if (one.name == name) return one;
  ADD_FAILURE() << "no function " << name;
  return none;
}

ProfileFigures figures_of(const Profile& profile) {
  ProfileFigures all{.rate_hz = 99,
                     .duration_ns = 2'000'000'000,
                     .samples = profile.samples(),
                     .cpus = {{.cpu = 0, .samples = 99, .idle = 50, .others = 49}},
                     .threads = profile.threads(),
                     .functions = profile.ranked_functions(),
                     .stacks = {}};
  for (const ProfiledStack& stack : profile.stacks(0)) {
    NamedStack shown{.root = stack.root, .samples = stack.samples, .is_cut = stack.is_cut};
    for (const u32 number : stack.frames) shown.frames.push_back(profile.functions()[number]);
    all.stacks.push_back(shown);
  }
  return all;
}

TEST(Profile, CountsTheInnermostFunctionAndItsCallers) {
  Profile profile(Whose::process);
  profile.add(sample(11), {}, {.frames = {user("leaf"), user("main")}, .end = {}});
  profile.add(sample(11), {kernel("read")}, {.frames = {user("main")}, .end = {}});
  const auto functions = profile.ranked_functions();
  EXPECT_EQ(named(functions, "leaf").self, 1u);
  EXPECT_EQ(named(functions, "main").self, 0u);
  EXPECT_EQ(named(functions, "main").total, 2u);
  EXPECT_TRUE(named(functions, "read").is_kernel);
  EXPECT_EQ(profile.samples(), 2u);
  EXPECT_EQ(profile.kernel_samples(), 1u);
}

TEST(Profile, CountsARecursionOnceInTotal) {
  Profile profile(Whose::process);
  profile.add(sample(11), {},
              {.frames = {user("walk"), user("visit"), user("walk"), user("walk")}, .end = {}});
  EXPECT_EQ(named(profile.ranked_functions(), "walk").total, 1u);
  EXPECT_EQ(named(profile.ranked_functions(), "walk").self, 1u);
}

TEST(Profile, KeepsFunctionsOfOneNameInTwoModulesApart) {
  Profile profile(Whose::process);
  profile.add(sample(11), {}, {.frames = {user("init", "/lib/a.so")}, .end = {}});
  profile.add(sample(11), {}, {.frames = {user("init", "/lib/b.so")}, .end = {}});
  EXPECT_EQ(profile.ranked_functions().size(), 2u);
}

TEST(Profile, CountsThreadsUnderTheirLastName) {
  Profile profile(Whose::process);
  profile.add(sample(11, "server"), {}, {.frames = {user("main")}, .end = {}});
  profile.add(sample(11, "dw-22"), {}, {.frames = {user("main")}, .end = {}});
  profile.add(sample(12, "dw-23"), {}, {.frames = {user("main")}, .end = {}});
  const auto threads = profile.threads();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].comm, "dw-22");
  EXPECT_EQ(threads[0].process, "server");
  EXPECT_EQ(threads[0].samples, 2u);
  EXPECT_EQ(threads[1].tid, 12u);
}

TEST(Profile, DrawsStacksByProcessOrByThread) {
  for (const bool by_thread : {false, true}) {
    Profile profile(by_thread ? Whose::thread : Whose::process);
    profile.add(sample(11, "dw-22"), {kernel("do_read"), kernel("entry")},
                {.frames = {user("read"), user("main")}, .end = {}});
    EXPECT_EQ(folded(profile),
              std::string(by_thread ? "dw-22" : "server") + ";main;read;entry_[k];do_read_[k] 1\n");
  }
}

TEST(Profile, MarksStacksWithoutTheirOutermostFrames) {
  Profile profile(Whose::process);
  profile.add(sample(11), {}, {.frames = {user("leaf")}, .end = "the copy of the stack ends"});
  EXPECT_EQ(profile.cut(), 1u);
  EXPECT_THAT(folded(profile), HasSubstr("server;…_[x];leaf 1"));
  EXPECT_TRUE(profile.stacks(0)[0].is_cut);
}

TEST(Profile, NamesUnnamedFunctionsByTheirModuleAndKeepsSamplesWithoutAStack) {
  Profile profile(Whose::process);
  profile.add(sample(11), {}, {.frames = {user("", "/lib/libx.so.1"), user("", "")}, .end = {}});
  profile.add(sample(11), {}, {});
  EXPECT_EQ(folded(profile), "server 1\nserver;[unknown];[libx.so.1]_[x] 1\n");
  u64 self = 0;
  for (const ProfiledFunction& one : profile.ranked_functions()) self += one.self;
  EXPECT_EQ(self, profile.samples());
}

TEST(Profile, RanksStacksByTheirSamples) {
  Profile profile(Whose::process);
  for (int i = 0; i < 3; ++i) profile.add(sample(11), {}, {.frames = {user("hot")}, .end = {}});
  profile.add(sample(11), {}, {.frames = {user("cold")}, .end = {}});
  const auto stacks = profile.stacks(1);
  ASSERT_EQ(stacks.size(), 1u);
  EXPECT_EQ(stacks[0].samples, 3u);
  EXPECT_EQ(profile.functions()[stacks[0].frames[0]].name, "hot");
  EXPECT_EQ(profile.stacks(0).size(), 2u);
}

TEST(Profile, StaysWithinItsLimitsAndCountsEverySample) {
  Profile profile(Whose::thread, {.threads = 4, .functions = 8, .roots = 3, .stack_words = 64});
  for (u32 i = 0; i < 1000; ++i)
    profile.add(sample(i + 1, "t" + std::to_string(i)), {},
                {.frames = {user("f" + std::to_string(i)), user("main")}, .end = {}});
  EXPECT_EQ(profile.samples(), 1000u);
  EXPECT_LE(profile.threads().size(), 5u);  // and the others
  EXPECT_LE(profile.functions().size(), 8u);
  u64 in_threads = 0, in_stacks = 0, in_functions = 0;
  for (const ProfiledThread& thread : profile.threads()) in_threads += thread.samples;
  for (const ProfiledStack& stack : profile.stacks(0)) in_stacks += stack.samples;
  for (const ProfiledFunction& one : profile.functions()) in_functions += one.self;
  EXPECT_EQ(in_threads, 1000u);
  EXPECT_EQ(in_stacks, 1000u);
  EXPECT_EQ(in_functions, 1000u);
  EXPECT_EQ(profile.tree().total(), 1000u);
}

TEST(ProfileText, HasNoDecimalsBelowAHundredSamples) {
  Profile few(Whose::process), many(Whose::process);
  for (int i = 0; i < 99; ++i) few.add(sample(11), {}, {.frames = {user("main")}, .end = {}});
  for (int i = 0; i < 100; ++i) many.add(sample(11), {}, {.frames = {user("main")}, .end = {}});
  EXPECT_THAT(profile_text(figures_of(few), false), HasSubstr(" 100%    100%  main"));
  EXPECT_THAT(profile_text(figures_of(many), false), HasSubstr(" 100.0%  100.0%  main"));
}

TEST(ProfileText, SaysHowManySamplesAndHowSureAShareIs) {
  Profile profile(Whose::process);
  for (int i = 0; i < 400; ++i) profile.add(sample(11), {}, {.frames = {user("main")}, .end = {}});
  const std::string text = profile_text(figures_of(profile), false);
  EXPECT_THAT(text,
              HasSubstr("cpu-clock, 99 Hz asked for, 99.0 Hz delivered on 1 CPU, 74.7% busy"));
  EXPECT_THAT(text, HasSubstr("n=400, 0.0% in the kernel; a share is within 4.9 points (95 %)"));
}

TEST(ProfileText, PrintsARecursionOnOneLineAndCutsDeepStacks) {
  Profile profile(Whose::process);
  StackNamer::UserStack deep;
  for (int i = 0; i < 9; ++i) deep.frames.push_back(user("walk"));
  for (int i = 0; i < 20; ++i) deep.frames.push_back(user("caller_" + std::to_string(i)));
  profile.add(sample(11), {}, deep);
  const std::string text = profile_text(figures_of(profile), false);
  EXPECT_THAT(text, HasSubstr("          walk (9 times)\n          caller_0\n"));
  EXPECT_THAT(text, HasSubstr("          caller_10\n          … 9 more frames (-v shows them)\n"));
  EXPECT_THAT(profile_text(figures_of(profile), true), HasSubstr("          caller_19\n"));
}

TEST(ProfileText, PrintsFunctionsOfOneNameInTwoModulesOnTwoLines) {
  Profile profile(Whose::process);
  profile.add(sample(11), {},
              {.frames = {user("clock_gettime", "[vdso]"), user("clock_gettime", "/lib/libc.so.6")},
               .end = {}});
  EXPECT_THAT(profile_text(figures_of(profile), false),
              HasSubstr("          clock_gettime\n          clock_gettime\n"));
}

TEST(Profile, ShortProcessesOfOneParentAreOneRow) {
  Profile profile(Whose::parent, {.threads = 2, .functions = 8, .roots = 2, .stack_words = 64});
  for (u32 pid = 100; pid < 150; ++pid) {
    profile_sample taken = sample(pid, "sh");
    taken.header.pid = pid;
    taken.origin = {
        .start_ns = pid, .parent_pid = 7, .is_known = 1, .process = "sh", .parent = "cron"};
    std::memcpy(taken.process, "sh\0\0\0", 6);
    profile.add(taken, {}, {.frames = {user("main")}, .end = {}});
  }
  const std::vector<ProfiledThread> rows = profile.threads();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].samples, 50u);
  EXPECT_EQ(rows[0].processes, 50u);
  EXPECT_EQ(folded(profile), "sh from cron[7];main 50\n");
  ProfileFigures all = figures_of(profile);
  all.by = Whose::parent;
  EXPECT_THAT(profile_text(all, false), HasSubstr("  sh ×50 from cron[7]\n"));
}

TEST(Profile, OwnersBeyondTheLimitAreOne) {
  Profile profile(Whose::name, {.threads = 2, .functions = 8, .roots = 2, .stack_words = 64});
  for (const char* const name : {"a", "b", "c", "d"})
    profile.add(sample(11, name), {}, {.frames = {user("main")}, .end = {}});
  EXPECT_EQ(profile.threads().size(), 3u);
  EXPECT_THAT(folded(profile), HasSubstr("(other);main 2\n"));
}

TEST(ProfileText, EscapesNamesOfThreads) {
  Profile profile(Whose::thread);
  profile.add(sample(11, "\x1b[31mred"), {}, {.frames = {user("main")}, .end = {}});
  const std::string text = profile_text(figures_of(profile), false);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("\\x1b[31mred"));
}

TEST(ProfileFigures, CpuShareIsTheTimeOfOneCpu) {
  const ProfileFigures all{.rate_hz = 100, .duration_ns = 2'000'000'000};
  EXPECT_DOUBLE_EQ(all.cpu_share({.samples = 100}), 0.5);
  EXPECT_DOUBLE_EQ(ProfileFigures{}.cpu_share({.samples = 100}), 0);
  EXPECT_DOUBLE_EQ(ProfileFigures{}.delivered_hz(), 0);
}

TEST(Profile, HasTheFullNamesOfKernelThreads) {
  Names names;
  names.threads = {{7, "kworker/R-kvfree_rcu_reclaim"}, {8, "kworker/0:1-events"}};
  const auto kernel_thread = [](u32 tid, std::string_view comm) {
    profile_sample taken = sample(tid, comm);
    taken.header.pid = tid;
    std::memset(taken.process, 0, sizeof taken.process);
    std::memcpy(taken.process, comm.data(), comm.size());
    return taken;
  };
  for (const Whose by : {Whose::thread, Whose::process}) {
    Profile profile(by);
    profile.use_names(names);
    profile.add(kernel_thread(7, "kworker/R-kvfre"), {kernel("work")}, {});
    profile.add(kernel_thread(8, "kworker/0:1"), {kernel("work")}, {});
    profile.resolve_names(names);
    EXPECT_EQ(folded(profile), "kworker/0:1;work_[k] 1\nkworker/R-kvfree_rcu_reclaim;work_[k] 1\n");
    EXPECT_EQ(profile.threads().at(0).comm, "kworker/R-kvfree_rcu_reclaim");
    EXPECT_EQ(profile.threads().at(0).process, "kworker/R-kvfree_rcu_reclaim");
    EXPECT_EQ(profile.threads().at(1).comm, "kworker/0:1-events");
  }
}

}  // namespace
}  // namespace overdue::profile_test

#include "probes/pairs/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "probes/pairs/pairs_fixture.h"

namespace overdue {
namespace {

class PairsTest : public KernelTest {};

const std::string program = PAIRS_FIXTURE;

constexpr const char* lifetime =
    "life=begin:sched:sched_process_fork,end:sched:sched_process_exit,"
    "key:child->pid,end-key:p->pid";

struct Lifetime {
  std::atomic<std::uint64_t> before_fork_ns, in_child_ns, end_of_child_ns, after_wait_ns;
  std::atomic<std::uint32_t> pid;
};

TEST_F(PairsTest, TheLifeOfAProcessIsFromItsForkToItsExit) {
  const Shared<std::array<Lifetime, 3>> lives;
  Child child([&](Child& self) {
    for (Lifetime& life : *lives) {
      life.before_fork_ns = KernelClock::now_ns();
      const pid_t pid = fork();
      if (pid == 0) {
        life.in_child_ns = KernelClock::now_ns();
        usleep(20'000);
        life.end_of_child_ns = KernelClock::now_ns();
        _exit(0);
      }
      life.pid = static_cast<std::uint32_t>(pid);
      waitpid(pid, nullptr, 0);
      life.after_wait_ns = KernelClock::now_ns();
    }
    self.step();
  });
  PairsSession measured(rules_for(child), {lifetime});
  measured.arm();
  child.run_step();
  measured.finish();

  const auto spans = measured.ended("life");
  ASSERT_EQ(spans.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    const Lifetime& life = (*lives)[i];
    EXPECT_EQ(spans[i].span, SPAN_PAIR);
    EXPECT_EQ(spans[i].subject, life.pid);
    EXPECT_EQ(spans[i].header.pid, life.pid) << "it ends itself";
    EXPECT_EQ(spans[i].begin_pid, child.pid());
    EXPECT_STREQ(spans[i].header.comm, "child");
    EXPECT_GE(spans[i].latency_ns, life.end_of_child_ns - life.in_child_ns);
    EXPECT_LE(spans[i].latency_ns, life.after_wait_ns - life.before_fork_ns);
  }
  const pair_counts counts = measured.probe->counts(0);
  EXPECT_EQ(counts.begins, 3u);
  EXPECT_EQ(counts.ends, 3u);
  EXPECT_EQ(counts.unmatched + counts.replaced + counts.full + counts.unread, 0u);
}

TEST_F(PairsTest, MembersAreReadThroughPointersAndFiltersChoose) {
  // The name of the new thread, its process and its parent, all by the kernel's types.
  Child child(
      [](Child& self) {
        for (int i = 0; i < 4; ++i) {
          const pid_t pid = fork();
          if (pid == 0) {
            prctl(PR_SET_NAME, i % 2 ? "odd-one" : "even-one");
            usleep(1'000);
            _exit(i);
          }
          waitpid(pid, nullptr, 0);
        }
        self.step();
      },
      "forker");
  PairsSession measured(
      rules_for(child),
      {"odd=begin:task:task_rename,end:sched:sched_process_exit,key:tid,"
       "filter:event.comm == \"odd-one\" && current->real_parent->comm == \"forker\"",
       "code=begin:sched:sched_process_fork,end:sched:sched_process_exit,key:child->pid,"
       "end-key:p->pid,end-filter:p->exit_code >> 8 == 2 && comm == \"even-one\"",
       "none=begin:sched:sched_process_fork,end:sched:sched_process_exit,key:child->pid,"
       "end-key:p->pid,filter:parent->comm != \"forker\" || parent->mm->mm_users.counter > 1000"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("odd").size(), 2u);
  for (const auto& span : measured.ended("odd")) EXPECT_STREQ(span.header.comm, "odd-one");
  EXPECT_EQ(measured.ended("code").size(), 1u);
  EXPECT_EQ(measured.ended("none").size(), 0u);
  EXPECT_EQ(measured.open().size(), 3u) << "three forks whose exit was another";
  EXPECT_EQ(measured.probe->counts(2).begins, 0u);
  EXPECT_EQ(measured.probe->counts(2).unread, 0u);
}

TEST_F(PairsTest, FieldsOfTheFormatAndTextOfTheUserAreRead) {
  Child child([](Child& self) {
    // On the stack: memory that was not touched since the fork is not present, and cannot be read.
    for (const std::string path : {"/dev/null", "/dev/zero", "/dev/null", "/dev/nullx"}) {
      const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
      if (fd >= 0) close(fd);
    }
    self.step();
  });
  PairsSession measured(
      rules_for(child),
      {"null=begin:syscalls:sys_enter_openat,end:syscalls:sys_exit_openat,key:tid,"
       "filter:filename == \"/dev/null\" && s32(dfd) == -100",
       "failed=begin:syscalls:sys_enter_openat,end:syscalls:sys_exit_openat,"
       "key:tid;pid,end-filter:s64(event.ret) == -2"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("null").size(), 2u);
  ASSERT_EQ(measured.ended("failed").size(), 1u);
  EXPECT_EQ(measured.ended("failed")[0].subject, child.pid());
  EXPECT_EQ(measured.ended("failed")[0].detail, child.pid());
  EXPECT_EQ(measured.probe->counts(1).replaced, 3u) << "those that did not fail";
}

TEST_F(PairsTest, ThresholdsHoldAndChangeWhileItRuns) {
  const Shared<std::atomic<std::uint64_t>> short_ns;
  Child child([&](Child& self) {
    while (true) {
      const std::uint64_t begin_ns = KernelClock::now_ns();
      usleep(1'000);
      *short_ns = KernelClock::now_ns() - begin_ns;
      usleep(20'000);
      self.step();
    }
  });
  const std::string events =
      "begin:syscalls:sys_enter_clock_nanosleep,end:syscalls:sys_exit_clock_nanosleep,key:tid";
  PairsSession measured(rules_for(child), {"own=" + events, "common=" + events});
  session_control& control = measured.session.membership().control();
  control.threshold_ns[SPAN_PAIR] = 0;
  measured.arm();
  const auto step = [&](std::size_t own, std::size_t common) {
    do {  // on a busy machine the short span may become long
      measured.spans.clear();
      child.run_step();
      usleep(5'000);  // records younger than a slack stay in their ring
      measured.session.poll(measured.handler());
    } while (*short_ns >= 10'000'000);
    EXPECT_EQ(measured.ended("own").size(), own);
    EXPECT_EQ(measured.ended("common").size(), common);
  };
  step(0, 0);
  control.threshold_ns[SPAN_PAIR] = 10'000'000;
  step(1, 1);
  measured.probe->set_threshold(0, Duration(0));
  step(2, 1);
  measured.probe->set_threshold(0, std::nullopt);
  control.threshold_ns[SPAN_PAIR] = 1'000'000'000;
  step(0, 0);
  measured.finish();
}

TEST_F(PairsTest, ATableThatIsFullIsCounted) {
  Child child([](Child& self) {
    for (int i = 0; i < 100; ++i) syscall(SYS_getpgid, i);
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"never=begin:syscalls:sys_enter_getpgid,"
                         "end:syscalls:sys_exit_getpgid,key:event.pid,end-key:0xfffff"},
                        false, 64);
  measured.arm();
  child.run_step();
  measured.finish();
  const pair_counts counts = measured.probe->counts(0);
  EXPECT_EQ(counts.begins, 100u);
  EXPECT_GT(counts.full, 0u);
  EXPECT_LE(counts.full, 36u + 64u);
  EXPECT_EQ(counts.ends, 0u);
  EXPECT_EQ(counts.unmatched, 100u);
  EXPECT_EQ(measured.open().size(), 100u - counts.full);
  const Receipt receipt = measured.session.receipt();
  EXPECT_EQ(receipt.lost_by.at("spans_full"), counts.full);
  EXPECT_EQ(receipt.unmatched, 100u);
}

TEST_F(PairsTest, WhatCannotBeReadIsLeftOutAndCountedUnlessItDoesNotMatter) {
  Child child([](Child& self) {
    for (int i = 0; i < 3; ++i) syscall(SYS_getpgid, 1);
    self.step();
  });
  const std::string events = "begin:syscalls:sys_enter_getpgid,end:syscalls:sys_exit_getpgid,";
  PairsSession measured(rules_for(child),
                        {"key=" + events + "key:read_u64(8)",
                         "and=" + events + "key:tid,filter:1 == 2 && read_u64(8) == 1",
                         "or=" + events + "key:tid,filter:read_u64(8) == 1 || tid > 0",
                         "not=" + events + "key:tid,filter:!read_u64(8)",
                         "end=" + events + "key:tid,end-key:read_u64(8)"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.probe->counts(0).unread, 3u) << "and ends without a begin mean nothing";
  EXPECT_EQ(measured.probe->counts(1).unread, 0u);
  EXPECT_EQ(measured.ended("and").size(), 0u);
  EXPECT_EQ(measured.probe->counts(2).unread, 0u);
  EXPECT_EQ(measured.ended("or").size(), 3u);
  EXPECT_EQ(measured.probe->counts(3).unread, 3u);
  EXPECT_EQ(measured.probe->counts(4).unread, 3u);
  EXPECT_EQ(measured.session.receipt().lost_by.at("spans_unread"), 9u);
}

TEST_F(PairsTest, EndsCountAsUnmatchedFromTheFirstBeginOn) {
  Child child([](Child& self) {
    for (int round = 0; round < 2; ++round) {
      for (int i = 0; i < 3; ++i) syscall(SYS_getpgid, 0);
      if (round == 0) syscall(SYS_getsid, 0);
    }
    self.step();
  });
  PairsSession measured(rules_for(child),
                        {"a=begin:syscalls:sys_enter_getsid,end:syscalls:sys_enter_getpgid,key:tid",
                         "b=begin:syscalls:sys_enter_getsid,end:syscalls:sys_enter_getpgid,key:tid,"
                         "filter:pid == 0"});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("a").size(), 1u);
  EXPECT_EQ(measured.probe->counts(0).unmatched, 2u) << "not the three before the begin";
  EXPECT_EQ(measured.probe->counts(1).unmatched, 0u) << "begins are filtered";
}

TEST_F(PairsTest, OthersDoNotCountUnlessTheTargetIsEverything) {
  Child child([](Child& self) {
    for (int i = 0; i < 3; ++i) syscall(SYS_getpgid, 0);
    self.step();
  });
  const std::string span = fmt::format(
      "x=begin:syscalls:sys_enter_getpgid,end:syscalls:sys_exit_getpgid,key:tid,"
      "filter:pid == {}",
      child.pid());
  {
    PairsSession measured({}, {span});
    measured.arm();
    child.run_step();
    EXPECT_EQ(measured.finish().size(), 0u);
    EXPECT_EQ(measured.probe->counts(0).begins, 0u);
  }
  Child again([](Child& self) {
    for (int i = 0; i < 3; ++i) syscall(SYS_getpgid, 0);
    self.step();
  });
  PairsSession measured({},
                        {fmt::format("x=begin:syscalls:sys_enter_getpgid,"
                                     "end:syscalls:sys_exit_getpgid,key:tid,filter:pid == {}",
                                     again.pid())},
                        true);
  measured.arm();
  again.run_step();
  EXPECT_EQ(measured.finish().size(), 3u);
}

TEST_F(PairsTest, WhatIsOpenAtTheEndIsDeliveredAsOpen) {
  Child child([](Child& self) {
    self.step();
    pause();
  });
  PairsSession measured(
      rules_for(child),
      {"pause=begin:syscalls:sys_enter_pause,end:syscalls:sys_exit_pause,key:tid"});
  measured.arm();
  child.go();
  child.wait_step();
  child.go();
  ASSERT_TRUE(child.wait_until_in(SYS_pause));
  measured.finish();
  ASSERT_EQ(measured.spans.size(), 1u);
  const span_record& open = measured.spans[0];
  EXPECT_EQ(open.flags, SPAN_OPEN);
  EXPECT_EQ(open.header.tid, child.pid());
  EXPECT_STREQ(open.header.comm, "child");
  EXPECT_STREQ(open.text, "pause");
  EXPECT_GT(open.latency_ns, 0u);
}

TEST_F(PairsTest, NothingIsLeftAttached) {
  BpfObjects objects;
  Child child([](Child& self) { self.step(); });
  {
    PairsSession measured(rules_for(child), {lifetime, "call=begin:uprobe:" + program +
                                                           ":fixture_sleep,end:uretprobe:" +
                                                           program + ":fixture_sleep,key:tid"});
    measured.arm();
    objects = own_bpf_objects();
    EXPECT_GE(objects.links.size(), 4u);
    measured.finish();
    const BpfObjects after = own_bpf_objects();
    for (const std::uint32_t link : objects.links)
      if (after.links.contains(link)) {
        EXPECT_GE(objects.links.size() - after.links.size(), 4u);
      }
  }
  EXPECT_EQ(still_held(objects), 0u);
}

std::string failure_of(const std::string& span) {
  try {
    PairsSession measured({}, {span});
  } catch (const Error& error) {
    return fmt::format("{} | {} | {}", error.what(), error.hint(), error.exit_status());
  }
  return "no error";
}

TEST_F(PairsTest, WhatDoesNotExistIsSaidWithWhatDoes) {
  const std::string end = ",end:sched:sched_process_exit,key:tid";
  using ::testing::HasSubstr;
  EXPECT_THAT(failure_of("x=begin:sched:sched_proces_fork" + end),
              HasSubstr("there is no tracepoint sched:sched_proces_fork | there is "
                        "sched:sched_process_fork | 2"));
  EXPECT_THAT(failure_of("x=begin:shed:sched_process_fork" + end),
              HasSubstr("there is sched:sched_process_fork"));
  EXPECT_THAT(failure_of("x=begin:uprobe:/no/such:f" + end), HasSubstr("No such file"));
  EXPECT_THAT(failure_of("x=begin:uprobe:/dev/null:f" + end), HasSubstr("not a regular file"));
  EXPECT_THAT(failure_of("x=begin:uprobe:/etc/passwd:f" + end), HasSubstr("no ELF file"));
  EXPECT_THAT(failure_of("x=begin:uprobe:" + program + ":fixture_slep" + end),
              HasSubstr("has no function fixture_slep | there is fixture_sleep"));
  EXPECT_THAT(failure_of("x=begin:usdt:" + program + ":fixture:begin" + end),
              HasSubstr("has no USDT probe fixture:begin"));
  EXPECT_THAT(failure_of("x=begin:sched:sched_process_fork,end:sched:sched_process_exit,"
                         "key:chld->pid"),
              HasSubstr("has no field `chld`; `child`?"));
  EXPECT_THAT(failure_of("x=begin:sched:sched_process_fork,end:sched:sched_process_exit,"
                         "key:child->pidd"),
              HasSubstr("struct task_struct has no member `pidd`; `pid`?"));
}

TEST_F(PairsTest, TheExamplesOfThePageAreRight) {
  const char* source = std::getenv("OVERDUE_SOURCE");
  std::ifstream page(std::filesystem::path(source ? source : "../..") / "docs" / "spans.md");
  const Kernel kernel;
  const auto types = KernelTypes::of_kernel();
  ASSERT_TRUE(types);
  int examples = 0;
  for (std::string line; std::getline(page, line);) {
    const std::size_t begin = line.find_first_not_of(' ');
    if (begin != 4 || line.find("=begin:") == line.npos || line.find("EXPRESSION") != line.npos ||
        line.find("--span") != line.npos)
      continue;
    ++examples;
    try {
      LocalEventFinder finder;
      make_hooks(parse_pair(line.substr(begin)), *types, kernel, finder);
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr("No such file")) << line;
    }
  }
  EXPECT_GE(examples, 6);
}

TEST_F(PairsTest, KernelFunctionsWhereTheKernelAllowsThem) {
  Child child([](Child& self) {
    for (int i = 0; i < 3; ++i) open("/dev/null", O_RDONLY | O_CLOEXEC);
    self.step();
  });
  const std::string span =
      "open=begin:fentry:vfs_open,end:fexit:vfs_open,key:tid,end-filter:ret == 0";
  const Kernel kernel;
  const Support support = pair_support(parse_pair(span), kernel);
  EXPECT_EQ(support.yes, kernel.fentry().yes);
  if (!support.yes) {
    EXPECT_THAT(failure_of(span), ::testing::HasSubstr("cannot use fentry:vfs_open: "));
    EXPECT_FALSE(support.missing.empty());
    GTEST_SKIP() << support.missing;
  }
  PairsSession measured(rules_for(child), {span});
  measured.arm();
  child.run_step();
  measured.finish();
  EXPECT_EQ(measured.ended("open").size(), 3u);
}

}  // namespace
}  // namespace overdue

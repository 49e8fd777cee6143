// Calls that seccomp or a tracer answers before they begin; no other call is taken for one.
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#include <csignal>
#include <map>
#include <thread>

#include "probes/syscalls/probe.h"
#include "probes/syscalls/probe_fixture.h"

namespace overdue {
namespace {

using ProbeRefused = KernelTest;

using Answers = std::map<u32, u32>;  ///< number → what the filter returns for it

/// For the calling thread; all other calls are allowed.
void install_filter(const Answers& answers) {
  std::vector<sock_filter> filter{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const auto& [nr, action] : answers) {
    filter.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1));
    filter.push_back(BPF_STMT(BPF_RET | BPF_K, action));
  }
  filter.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (prctl(PR_SET_DUMPABLE, 0) != 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    _exit(7);
}

constexpr u32 refuse_with(u32 code) {
  return SECCOMP_RET_ERRNO | code;
}

u64 refused(const Seen& seen, u32 nr) {
  u64 sum = 0;
  for (const syscall_cell& cell : seen.cells) sum += cell.nr == nr ? cell.refused : 0;
  for (const syscall_call& call : seen.calls) sum += call.nr == nr && call.flags & SYSCALL_REFUSED;
  return sum;
}

u64 errors(const Seen& seen, u32 nr, u32 code) {
  u64 sum = 0;
  for (const syscall_cell& cell : seen.cells)
    for (const errno_count& slot : cell.errnos)
      sum += cell.nr == nr && slot.code == code ? slot.count : 0;
  for (const syscall_call& call : seen.calls)
    sum += call.nr == nr && call.ret == -static_cast<s64>(code);
  return sum;
}

u64 all_refused(const Measuring& measuring) {
  return measuring.session.receipt().refused;
}

TEST_F(ProbeRefused, EveryAnswerIsCountedWithItsErrorAndWithoutALatency) {
  for (const SyscallsOptions& options : every_way()) {
    Child child([](Child&) {
      signal(SIGSYS, [](int) {});
      install_filter({{SYS_getuid, refuse_with(EPERM)},
                      {SYS_getgid, refuse_with(0)},
                      {SYS_geteuid, SECCOMP_RET_TRAP},
                      {SYS_getegid, SECCOMP_RET_TRACE}});
      call_times(SYS_getuid, 7);
      call_times(SYS_getgid, 3);
      call_times(SYS_geteuid, 4);
      call_times(SYS_getegid, 5);
      call_times(SYS_getppid, 6);
    });
    Measuring measuring(rules_of_process(child), options, ring_for(options));
    measuring.arm();
    child.go();
    EXPECT_EQ(child.end(), 0);
    const Seen& seen = measuring.finish();
    const std::map<u32, u64> made{
        {SYS_getuid, 7}, {SYS_getgid, 3}, {SYS_geteuid, 4}, {SYS_getegid, 5}};
    for (const auto& [nr, times] : made) {
      EXPECT_EQ(seen.made(nr), times) << nr;
      EXPECT_EQ(refused(seen, nr), times) << nr;
    }
    EXPECT_EQ(errors(seen, SYS_getuid, EPERM), 7u);
    EXPECT_EQ(errors(seen, SYS_getegid, ENOSYS), 5u);
    EXPECT_EQ(seen.made(SYS_getppid), 6u);
    EXPECT_EQ(refused(seen, SYS_getppid), 0u);
    EXPECT_EQ(all_refused(measuring), 19u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
    EXPECT_EQ(measuring.session.receipt().cut, 1u);  // the child's first step
    for (const syscall_cell& cell : seen.cells) {
      if (made.contains(cell.nr)) {
        EXPECT_EQ(cell.latency.count, 0u);
      }
    }
    for (const syscall_call& call : seen.calls) {
      if (!made.contains(call.nr)) continue;
      EXPECT_EQ(call.latency_ns, 0u);
      EXPECT_EQ((call.flags & SYSCALL_TRAPPED) != 0, call.nr == SYS_geteuid);
    }
  }
}

TEST_F(ProbeRefused, AThreadThatIsKilledForItsCallHasMadeIt) {
  for (const u32 action : {SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_KILL_THREAD})
    for (const SyscallsOptions& options : every_way()) {
      Child child([&](Child&) {
        std::thread([&] {
          install_filter({{SYS_getuid, action}});
          call_times(SYS_getuid, 1);
        }).detach();
        usleep(200'000);
        call_times(SYS_getppid, 2);
      });
      Measuring measuring(rules_of_process(child), options, ring_for(options));
      measuring.arm();
      child.go();
      EXPECT_EQ(WIFSIGNALED(child.end()), action == SECCOMP_RET_KILL_PROCESS);
      const Seen& seen = measuring.finish();
      EXPECT_EQ(seen.made(SYS_getuid), 1u);
      EXPECT_EQ(refused(seen, SYS_getuid), 1u);
      EXPECT_EQ(all_refused(measuring), 1u);
      EXPECT_EQ(seen.made(SYS_getppid), action == SECCOMP_RET_KILL_PROCESS ? 0u : 2u);
    }
}

TEST_F(ProbeRefused, OfTheStartACallIsCutAndARefusedOneIsNot) {
  struct Spinner {
    std::atomic<bool> spins, goes_on;
  };
  Shared<Spinner> spinner;
  Child reader([](Child& self) {
    install_filter({{SYS_getuid, refuse_with(EPERM)}});
    self.step();
    call_times(SYS_getuid, 3);
    self.step();
  });
  Child runner([&](Child& self) {
    install_filter({{SYS_getuid, refuse_with(EPERM)}});
    spinner->spins = true;
    while (!spinner->goes_on) continue;
    call_times(SYS_getuid, 4);
    self.step();
  });
  reader.run_step();
  ASSERT_TRUE(reader.wait_until_in(SYS_read));
  runner.go();
  while (!spinner->spins) usleep(1'000);
  MembershipRules rules;
  rules.pids = {reader.pid(), runner.pid()};
  Measuring measuring(rules, figures(Figures::by_thread));
  measuring.arm();
  reader.run_step();
  spinner->goes_on = true;
  runner.wait_step();
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getuid, ABI_NATIVE, reader.pid()), 3u);
  EXPECT_EQ(seen.made(SYS_getuid, ABI_NATIVE, runner.pid()), 4u);
  EXPECT_EQ(all_refused(measuring), 7u);
  EXPECT_EQ(seen.made(SYS_read), 0u);
  EXPECT_EQ(measuring.session.receipt().cut, 1u);  // the reader's
  EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
}

TEST_F(ProbeRefused, NoAllowedCallOfAFilteredThreadIsTakenForOne) {
  for (const SyscallsOptions& options : every_way()) {
    Child child([](Child&) {
      install_filter({{SYS_getuid, refuse_with(EPERM)}});
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i)
        threads.emplace_back([] {
          for (int round = 0; round < 2'000; ++round) {
            call_times(SYS_getppid, 3);
            call_times(SYS_sched_yield, 1);
          }
        });
      for (std::thread& thread : threads) thread.join();
    });
    SyscallsOptions limited = options;
    limited.only = only_these({SYS_getppid, SYS_getuid});
    limited.cpus = {0};
    Measuring measuring(rules_of_process(child), limited, ring_for(options));
    measuring.arm();
    child.go();
    for (int pauses = 0; pauses < 5; ++pauses) {
      usleep(2'000);
      measuring.session.pause();
      usleep(1'000);
      measuring.session.resume();
    }
    EXPECT_EQ(child.end(), 0);
    measuring.finish();
    EXPECT_EQ(all_refused(measuring), 0u);
    EXPECT_EQ(measuring.session.receipt().unmatched, 0u);
  }
}

TEST_F(ProbeRefused, InAPauseTheyAreNotCounted) {
  Child child([](Child& self) {
    install_filter({{SYS_getuid, refuse_with(EPERM)}});
    self.step();
    call_times(SYS_getuid, 3);
    self.step();
    call_times(SYS_getuid, 4);
    self.step();
  });
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  measuring.session.pause();
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  measuring.session.resume();
  child.run_step();
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getuid), 4u);
  EXPECT_EQ(all_refused(measuring), 4u);
  // The reads that the child was in when measuring began, and when it began again.
  EXPECT_EQ(measuring.session.receipt().cut, 2u);
}

TEST_F(ProbeRefused, OnlyThoseAskedForAreCounted) {
  Child child([](Child&) {
    install_filter({{SYS_getuid, refuse_with(EPERM)}, {SYS_getgid, refuse_with(EACCES)}});
    call_times(SYS_getuid, 3);
    call_times(SYS_getgid, 4);
    call_times(SYS_getppid, 5);
  });
  Measuring measuring(rules_of_process(child),
                      figures(Figures::by_cpu, only_these({SYS_getgid, SYS_getppid})));
  measuring.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Seen& seen = measuring.finish();
  EXPECT_EQ(seen.made(SYS_getuid), 0u);
  EXPECT_EQ(refused(seen, SYS_getgid), 4u);
  EXPECT_EQ(seen.made(SYS_getppid), 5u);
  EXPECT_EQ(all_refused(measuring), 4u);
}

/// Lets a stopped child continue by `request` until it stops again.
int run_until_stop(pid_t pid, __ptrace_request request) {
  int status = 0;
  EXPECT_EQ(ptrace(request, pid, nullptr, nullptr), 0);
  EXPECT_EQ(waitpid(pid, &status, 0), pid);
  return status;
}

TEST_F(ProbeRefused, ATracerThatEmulatesCallsAnswersThem) {
  Child child([](Child& self) {
    const pid_t own = getpid();
    self.step();
    syscall(SYS_kill, own, SIGSTOP);  // raise() makes other calls too
    for (int i = 0; i < 3; ++i)
      if (syscall(SYS_getuid) != 4711) _exit(5);
    syscall(SYS_kill, own, SIGSTOP);
  });
  child.run_step();
  ASSERT_TRUE(child.wait_until_in(SYS_read));
  const auto pid = static_cast<pid_t>(child.pid());
  Measuring measuring(rules_of_process(child));
  measuring.arm();
  ASSERT_EQ(ptrace(PTRACE_SEIZE, pid, nullptr, PTRACE_O_EXITKILL), 0);
  child.go();
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);  // its own stop
  for (int i = 0; i < 3; ++i) {
    status = run_until_stop(pid, PTRACE_SYSEMU);
    while (WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP)
      status = run_until_stop(pid, PTRACE_SYSEMU);
    user_regs_struct registers{};
    ASSERT_EQ(ptrace(PTRACE_GETREGS, pid, nullptr, &registers), 0);
    ASSERT_EQ(registers.orig_rax, static_cast<unsigned long long>(SYS_getuid));
    registers.rax = 4711;
    ASSERT_EQ(ptrace(PTRACE_SETREGS, pid, nullptr, &registers), 0);
  }
  run_until_stop(pid, PTRACE_CONT);
  const Seen& seen = measuring.finish();
  EXPECT_EQ(refused(seen, SYS_getuid), 3u);
  EXPECT_EQ(all_refused(measuring), 3u);
  EXPECT_EQ(errors(seen, SYS_getuid, EPERM), 0u);
}

TEST_F(ProbeRefused, WithTheHookOfExitsDiscoveryNotesThem) {
  Child child([](Child& self) {
    install_filter({{SYS_getuid, refuse_with(EPERM)}});
    self.step();
    call_times(SYS_getuid, 3);
    self.step();
  });
  Child other([](Child& self) {
    self.step();
    install_filter({});
    self.step();
  });
  child.run_step();
  other.run_step();
  for (Child* measured : {&child, &other}) {
    Measuring measuring(rules_of_process(*measured), figures(Figures::discovery));
    measuring.arm();
    measuring.probe->look_for_filters();
    EXPECT_EQ(measuring.probe->refusable_since().has_value(), measured == &child);
    if (measured == &child) measuring.probe->attach_raw_exit();
    measured->run_step();
    EXPECT_TRUE(measuring.probe->refusable_since().has_value());
    EXPECT_EQ(measuring.probe->discovered()[ABI_NATIVE][SYS_getuid], measured == &child);
    EXPECT_EQ(measuring.finish().all(), 0u);
  }
}

}  // namespace
}  // namespace overdue

// The ledger adds up, and waits are recorded with their wakers.
#include <gtest/gtest.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <vector>

#include "bpf/user_stack.h"
#include "kernel/thresholds.h"
#include "probes/sched/probe_fixture.h"

namespace overdue {
namespace {

using namespace std::chrono_literals;

class Stalls : public KernelTest {};

constexpr u16 hrtimer_softirq = 8;  // of enum in include/linux/interrupt.h
/// Late waits of a child, and their user stacks.
struct LateWaits {
  explicit LateWaits(const Child& child, bool use_task_work) : session(rules(child), 4 << 20) {
    auto sched = std::make_unique<SchedProbe>(
        session.membership().maps(),
        SchedOptions{.user_stack_bytes = 16 << 10, .use_task_work = use_task_work});
    has_stacks_everywhere = sched->has_stacks_everywhere();
    session.add(std::move(sched));
    session.membership().control().threshold_ns[SPAN_OFFCPU] = 10'000'000;
    session.membership().control().wait_min_ns = 1'000'000;
  }
  static MembershipRules rules(const Child& child) {
    MembershipRules rules;
    rules.pids = {child.pid()};
    return rules;
  }
  void finish() {
    session.finish([this](const Record& record) {
      if (record.schema->id == RECORD_SCHED_WAIT) waits.emplace_back(record);
      if (record.schema->id == RECORD_WAIT_STACK) stacks.push_back(record.as<wait_stack>());
    });
  }
  /// The deferred stack of a wait.
  const wait_stack* stack_of(const SeenWait& wait) const {
    for (const wait_stack& stack : stacks)
      if (stack.header.tid == wait.fixed.header.tid &&
          stack.since_ns <= wait.fixed.header.time_ns &&
          wait.fixed.header.time_ns <= stack.header.time_ns)
        return &stack;
    return nullptr;
  }

  Session session;
  bool has_stacks_everywhere = false;
  std::vector<SeenWait> waits;
  std::vector<wait_stack> stacks;
};

/// A sleep by the sleeper's own clock.
struct Slept {
  u64 begin_ns, end_ns;
};

void late_waits_in_calls_have_user_stacks(bool use_task_work) {
  const Shared<std::array<Slept, 5>> sleeps;
  Child child([&](Child&) {
    for (Slept& sleep : *sleeps) {
      sleep.begin_ns = KernelClock::now_ns();
      usleep(20'000);
      sleep.end_ns = KernelClock::now_ns();
    }
  });
  LateWaits measuring(child, use_task_work);
  if (use_task_work && !measuring.has_stacks_everywhere)
    GTEST_SKIP() << "this kernel has no task work for BPF programs";
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  measuring.finish();
  int slept = 0;
  for (const SeenWait& wait : measuring.waits) {
    const bool is_late = wait.fixed.header.pid == child.pid() &&
                         wait.fixed.header.time_ns - wait.fixed.out_ns >= 10'000'000;
    if (!is_late) {
      EXPECT_FALSE(wait.fixed.flags & WAIT_STACK_DEFERRED);
      continue;
    }
    // On a busy machine the child may also be late to begin or to end, without a deferred stack.
    const auto sleep = std::ranges::find_if(*sleeps, [&](const Slept& one) {
      return one.begin_ns <= wait.fixed.out_ns && wait.fixed.header.time_ns <= one.end_ns;
    });
    if (sleep == sleeps->end()) continue;
    if (wait.stack.empty()) continue;  // a switch that the kernel did not report
    ++slept;
    ASSERT_TRUE(wait.fixed.flags & WAIT_STACK_DEFERRED);
    const wait_stack* stack = measuring.stack_of(wait);
    ASSERT_TRUE(stack);
    EXPECT_TRUE(stack->flags & SPAN_HAS_USER_STACK);
    EXPECT_GT(stack->user_bytes, USER_RED_ZONE);
    EXPECT_EQ(stack->header.size, sizeof(wait_stack) + sizeof(user_registers) + stack->user_bytes);
    EXPECT_LE(stack->header.time_ns, sleep->end_ns) << "before it went to sleep again";
  }
  EXPECT_GE(slept, 3);
}

TEST_F(Stalls, LateWaitsHaveUserStacksOfTheThreadsWayBack) {
  late_waits_in_calls_have_user_stacks(true);
}

TEST_F(Stalls, LateWaitsInCallsHaveUserStacksWithoutTaskWork) {
  late_waits_in_calls_have_user_stacks(false);
}

/// A copy of this program with no page in memory: a thread that executes it waits for the disk both
/// before and after its memory is exchanged.
class ColdProgram {
 public:
  ColdProgram() {
    std::filesystem::copy_file("/proc/self/exe", path_);
    const Fd file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
    check_errno(fsync(file.get()), "cannot write the program");
    check_errno(-posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED), "cannot forget the program");
  }
  ColdProgram(const ColdProgram&) = delete;
  ColdProgram& operator=(const ColdProgram&) = delete;
  ~ColdProgram() { std::filesystem::remove(path_); }

  void execute() const {
    const Fd nowhere(open("/dev/null", O_WRONLY | O_CLOEXEC));
    dup2(nowhere.get(), STDOUT_FILENO);
    execl(path_.c_str(), path_.c_str(), "--gtest_list_tests", nullptr);
  }

 private:
  std::string path_ = fmt::format("{}/overdue-cold-{}", ::testing::TempDir(), getpid());
};

TEST_F(Stalls, AWaitInAnExecHasNoStackOfMemoryThatIsNotThere) {
  const ColdProgram program;
  Child child([&](Child&) { program.execute(); });
  LateWaits measuring(child, true);
  measuring.session.membership().control().threshold_ns[SPAN_OFFCPU] = 1;
  measuring.session.membership().control().wait_min_ns = 1;
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  measuring.finish();
  int without = 0;
  for (const wait_stack& stack : measuring.stacks) {
    const bool has_stack = stack.flags & SPAN_HAS_USER_STACK;
    without += !has_stack;
    EXPECT_TRUE(!has_stack || stack.user_bytes > USER_RED_ZONE);
  }
  if (without == 0) GTEST_SKIP() << "the program is in memory again, or its disk is one";
}

TEST_F(Stalls, OfASleepAreExplainedByTheLedgerAndTheWait) {
  Child child([](Child&) {
    for (int i = 0; i < 5; ++i) usleep(20'000);
  });
  Explaining measuring({child.pid()}, 10ms);
  measuring.session.arm();
  child.go();
  EXPECT_EQ(child.end(), 0);
  const Explained& seen = measuring.finish();
  const bool rt = Kernel().preempt_rt();
  EXPECT_EQ(std::ranges::count(seen.calls, u32{SYS_clock_nanosleep}, &syscall_call::nr), 5);
  int sleeps = 0, explained = 0;
  for (const SeenSpan& span : seen.spans) {
    EXPECT_EQ(span.fixed.span, SPAN_SYSCALL);
    if (span.fixed.subject != SYS_clock_nanosleep) continue;  // the child's end, on a busy machine
    ++sleeps;
    EXPECT_GE(span.fixed.latency_ns, 20'000'000u);
    EXPECT_TRUE(span.fixed.flags & SPAN_HAS_USER_STACK);
    EXPECT_GT(span.fixed.user_bytes, USER_RED_ZONE);
    if (!(span.fixed.flags & SPAN_HAS_LEDGER)) continue;  // an unreported switch
    EXPECT_NEAR(static_cast<double>(sum_of(span.fixed.ledger)),
                static_cast<double>(span.fixed.latency_ns),
                0.001 * static_cast<double>(span.fixed.latency_ns));
    EXPECT_GT(span.fixed.ledger.sleeping_ns, 19'000'000u);
    const SeenWait* wait = seen.wait_within(span);
    ASSERT_TRUE(wait);
    EXPECT_EQ(wait->fixed.state, u32{WAIT_SLEEPING});
    EXPECT_TRUE(wait->fixed.flags & WAIT_OF_MEMBER);
    // A switch or a waking that the kernel did not report.
    if (wait->stack.empty() || wait->fixed.waker_context == WAKER_UNKNOWN) continue;
    ++explained;
    EXPECT_GT(wait->stack.size(), 3u);
    // With PREEMPT_RT the timers of ordinary threads expire in a softirq.
    EXPECT_EQ(wait->fixed.waker_context, rt ? u16{WAKER_SOFTIRQ} : u16{WAKER_VECTOR});
    EXPECT_EQ(wait->fixed.waker_number, rt ? hrtimer_softirq : u16{VECTOR_LOCAL_TIMER});
    EXPECT_TRUE(seen.wake_of(*wait)) << "the waker's stack";
  }
  EXPECT_EQ(sleeps, 5);
  EXPECT_GE(explained, 3);
}

/// Two threads that make 100 calls of getppid in each step, and the reported calls while every call
/// passes the lowest threshold.
class StallsByName : public Stalls {
 protected:
  static constexpr int calls_a_step = 100;

  void SetUp() override {
    Stalls::SetUp();
    if (IsSkipped()) return;
    first_ = std::make_unique<Child>(call_in_steps, "dw-1");
    second_ = std::make_unique<Child>(
        [](Child& self) {
          call_times(SYS_getppid, calls_a_step);
          self.step();
          prctl(PR_SET_NAME, "dw-2");
          call_in_steps(self);
        },
        "other");
    measuring_ = std::make_unique<Explaining>(std::vector{first_->pid(), second_->pid()}, 1ns);
  }

  void set(const ThreadThresholds& thresholds) {
    forget_thread_thresholds(control());
    set_thread_thresholds(control(), thresholds);
  }
  static ThreadThresholds others(Duration time, ThreadThresholds thresholds = {}) {
    thresholds.others[SPAN_SYSCALL] = time;
    return thresholds;
  }
  session_control& control() { return measuring_->session.membership().control(); }
  void arm() { measuring_->session.arm(); }

  /// The numbers of reported getppid calls of both threads after each has made a step.
  std::pair<std::size_t, std::size_t> run_step() {
    measuring_->seen = {};
    first_->run_step();
    second_->run_step();
    usleep(2'000);  // poll() leaves the newest records for the next time
    measuring_->session.poll(measuring_->seen.handler());
    return {reported_of(first_->pid()), reported_of(second_->pid())};
  }
  std::size_t reported_of(std::uint32_t pid) const {
    const auto& calls = measuring_->seen.calls;
    return static_cast<std::size_t>(
        std::count_if(calls.begin(), calls.end(), [&](const syscall_call& call) {
          return call.header.pid == pid && call.nr == SYS_getppid;
        }));
  }
  const Explained& seen() const { return measuring_->seen; }
  std::uint32_t second_pid() const { return second_->pid(); }
  Receipt finish() {
    measuring_->finish();
    return measuring_->session.receipt();
  }

  static constexpr std::pair<std::size_t, std::size_t> none{0, 0}, both{calls_a_step, calls_a_step},
      only_first{calls_a_step, 0}, only_second{0, calls_a_step};

 private:
  static void call_in_steps(Child& self) {
    for (;;) {
      call_times(SYS_getppid, calls_a_step);
      self.step();
    }
  }

  std::unique_ptr<Child> first_, second_;
  std::unique_ptr<Explaining> measuring_;
};

TEST_F(StallsByName, OfOthersAreNotEvenRecorded) {
  set({.by_glob = {{"nobody", 1ns}, {"dw-*", 1ns}}});
  arm();
  EXPECT_EQ(run_step(), only_first);
  for (const syscall_call& call : seen().calls) EXPECT_NE(call.header.pid, second_pid());
  for (const SeenSpan& span : seen().spans) EXPECT_NE(span.fixed.header.pid, second_pid());
  EXPECT_EQ(run_step(), both) << "from the next call on after it is renamed";
  EXPECT_EQ(finish().lost(), 0u);
}

TEST_F(StallsByName, FollowTheFirstGlobThatMatches) {
  arm();
  EXPECT_EQ(run_step(), both) << "no names are looked at";
  set({.by_glob = {{"dw-1", 1h}, {"dw-*", 1ns}}});
  EXPECT_EQ(run_step(), only_second);
  set({.by_glob = {{"dw-[!2]", 1ns}, {"dw-*", 1h}}});
  EXPECT_EQ(run_step(), only_first);
  set({.by_glob = {{"d*", 1h}, {"dw-*", 1ns}}});
  EXPECT_EQ(run_step(), none);
  set(others(1ns, {.by_glob = {{"dw-1", 1h}}}));
  EXPECT_EQ(run_step(), only_second);
  set(others(1h, {.by_glob = {{"dw-1", 1ns}}}));
  EXPECT_EQ(run_step(), only_first);
}

TEST_F(StallsByName, AreToldOfWhereThereAreMoreGlobsThanTheKernelMatches) {
  ThreadThresholds many{.by_glob = {{"dw-2", 1h}}};
  for (int i = 0; i < THREAD_THRESHOLDS; ++i) many.by_glob.emplace_back("nobody", 1h);
  many.by_glob.emplace_back("dw-1", 1ns);
  arm();
  run_step();
  set(many);
  EXPECT_EQ(run_step(), only_first);
}

}  // namespace
}  // namespace overdue

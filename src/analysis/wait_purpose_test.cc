#include "analysis/wait_purpose.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>

namespace overdue {
namespace {

/// A call of 1000 ns whose thread slept in a function of the kernel.
Finding slept(std::string call, std::string kernel, std::uint64_t ns = 900) {
  Finding finding;
  finding.span = "syscall";
  finding.name = std::move(call);
  finding.thread = {1, 2, "worker-12"};
  finding.time = KernelTime(Duration(5000));
  finding.latency_ns = 1000;
  finding.waits = {
      {.ns = ns, .state = "sleeping", .kernel_stack = {{.name = "schedule"}, {.name = kernel}}}};
  return finding;
}

/// Innermost first.
void called_by(Finding& finding, std::initializer_list<const char*> functions) {
  finding.user_stack.emplace();
  for (const char* const function : functions) finding.user_stack->push_back({.name = function});
  finding.user_stack->front().module = "/lib/libc.so.6";
}

Finding futex(std::initializer_list<const char*> functions) {
  Finding finding = slept("futex", "futex_do_wait");
  finding.result = 0;
  called_by(finding, functions);
  return finding;
}

Finding poll(std::initializer_list<const char*> functions, const char* nfds = "nfds=3") {
  Finding finding = slept("poll", "do_sys_poll");
  finding.arguments = {"fds=0x1", nfds, "timeout=-1"};
  finding.result = 1;
  called_by(finding, functions);
  return finding;
}

WaitPurpose purpose_of(const Finding& finding) {
  WaitHabits habits;
  return purpose_of(finding, habits);
}

void expect(const Finding& finding, std::string_view of, std::string_view by,
            std::uint64_t meant_ns) {
  const WaitPurpose purpose = purpose_of(finding);
  EXPECT_EQ(purpose.of, of);
  EXPECT_EQ(purpose.by, by);
  EXPECT_EQ(purpose.meant_ns, meant_ns);
}

TEST(WaitPurpose, IsTheRequestOfASleep) {
  Finding sleep = slept("clock_nanosleep", "hrtimer_nanosleep");
  sleep.result = 0;
  sleep.given_ns = 700;
  sleep.arguments = {"clockid=CLOCK_REALTIME", "flags=0", "request=0x1", "remain=NULL"};
  expect(sleep, "time", "its request", 700);
  EXPECT_EQ(sleep.late_ns(), 1000u) << "nothing has been decided yet";
  sleep.given_ns = 2'000'000;  // longer than the call lasted
  expect(sleep, "time", "its request", 900);

  sleep.arguments = {"clockid=CLOCK_MONOTONIC", "flags=TIMER_ABSTIME", "request=0x1"};
  sleep.given_ns = 4300;  // the call began at 4000
  expect(sleep, "time", "its request", 300);
  sleep.given_ns = 3000;  // before the call: from a time namespace
  expect(sleep, "time", "its request", 900);
  sleep.arguments[0] = "clockid=CLOCK_REALTIME";
  expect(sleep, "time", "its request", 900);

  sleep.arguments[1] = "flags=0";
  sleep.result = -4;  // the remaining time may have overwritten the request
  expect(sleep, "time", "its request", 900);
}

TEST(WaitPurpose, OfASleepIsNotTheTimeForWhichASignalOrATracerStoppedTheThread) {
  Finding sleep = slept("clock_nanosleep", "hrtimer_nanosleep", 100);
  sleep.waits.push_back({.ns = 850, .state = "other", .kernel_stack = {{.name = "ptrace_stop"}}});
  sleep.breakdown = Breakdown{{ShareKind::oncpu, 20}, {ShareKind::sleeping, 980}};
  expect(sleep, "time", "its request", 130);
}

TEST(WaitPurpose, OfASleepThatIsOpenIsItsRequest) {
  Finding sleep = slept("clock_nanosleep", "hrtimer_nanosleep");
  sleep.type = "hang";
  expect(sleep, "time", "its request", 900);
}

TEST(WaitPurpose, IsWhatTheInnermostKnownFunctionSays) {
  expect(poll({"poll", "PQgetResult", "PQexec", "main"}), "answer", "PQgetResult", 0);
  expect(poll({"poll", "get_row", "[python3+0x1]", "main"}), "unknown", "", 900);
  expect(poll({"epoll_wait", "aeProcessEvents", "aeMain", "main"}), "work", "aeProcessEvents", 900);
  expect(futex({"pthread_mutex_lock", "aeProcessEvents"}), "answer", "pthread_mutex_lock", 0);
  // A server that waits while it runs a command does not wait for a client's next command.
  expect(poll({"epoll_wait", "WaitEventSetWait", "secure_read", "PostgresMain"}), "work",
         "secure_read", 900);
  expect(poll({"epoll_wait", "WaitEventSetWait", "WaitLatch", "ProcSleep", "PostgresMain"}),
         "answer", "ProcSleep", 0);
}

TEST(WaitPurpose, OfAReaderOfAChannelIsWork) {
  expect(futex({"__new_sem_wait_slow64", "PyThread_acquire_lock_timed",
                "_queue_SimpleQueue_get_impl", "_PyEval_EvalFrameDefault"}),
         "work", "_queue_SimpleQueue_get_impl", 900);
  expect(futex({"__new_sem_wait_slow64", "PyThread_acquire_lock_timed", "acquire_timed",
                "Condition.wait", "Queue.get", "worker"}),
         "work", "Queue.get", 900);
  expect(futex({"__new_sem_wait_slow64", "PyThread_acquire_lock_timed", "acquire_timed",
                "Condition.wait", "Future.result", "request"}),
         "answer", "Future.result", 0);
  expect(futex({"syscall", "<std::thread::thread::Thread>::park",
                "std::sync::mpmc::list::Channel<T>::recv::{{closure}}", "m::main"}),
         "work", "std::sync::mpmc::list::Channel<T>::recv::{{closure}}", 900);
  expect(
      futex({"__lll_lock_wait", "pthread_mutex_lock", "std::sync::mpmc::list::Channel<T>::send"}),
      "answer", "__lll_lock_wait", 0);
}

TEST(WaitPurpose, OfALoopIsThatOfItsCaller) {
  expect(poll({"epoll_pwait", "uv__io_poll", "uv_run", "node::SpinEventLoopInternal(x*)"}), "work",
         "uv__io_poll", 900);
  expect(poll({"epoll_pwait", "uv__io_poll", "uv_run",
               "node::SyncProcessRunner::TryInitializeAndRunLoop(v8::Local<v8::Value>)"}),
         "answer", "node::SyncProcessRunner::TryInitializeAndRunLoop", 0);
  expect(poll({"epoll_pwait", "uv__io_poll"}), "work", "uv__io_poll", 900);
  Finding read = slept("read", "pipe_read");
  called_by(read, {"read", "ask", "uv_run", "main"});
  expect(read, "unknown", "its event loop waits", 0);
  expect(futex({"pthread_cond_wait", "ask", "aeMain", "main"}), "unknown", "", 0);
}

TEST(WaitPurpose, OfARowForCallersIsNotThatOfWhatTheyCall) {
  expect(futex({"pthread_cond_wait", "Monitor::wait(unsigned long)",
                "VMThread::wait_for_operation()", "VMThread::run()"}),
         "work", "VMThread::wait_for_operation", 900);
  expect(futex({"pthread_cond_wait", "helper", "VMThread::wait_for_operation()"}), "unknown", "",
         0);
}

TEST(WaitPurpose, OfAThreadInItsMainFunctionIsWork) {
  expect(futex({"pthread_cond_wait", "uv_cond_wait", "worker", "start_thread", "clone3"}), "work",
         "its main function", 900);
  Finding nameless = futex({"pthread_cond_wait", "", "start_thread"});
  nameless.user_stack->at(1).module = "/bin/prog";
  expect(nameless, "work", "its main function", 900);
  expect(futex({"pthread_cond_wait", "get_answer", "worker", "start_thread"}), "unknown", "", 0);
  expect(futex({"pthread_cond_wait", "main", "__libc_start_main"}), "unknown", "", 0);
  Finding cut = futex({"pthread_cond_wait", "worker", "start_thread"});
  cut.user_stack_end = "the copy of the stack ends";
  expect(cut, "unknown", "", 0);
}

TEST(WaitPurpose, OfWhatTimedOutIsUnknownAndNoneOfItWasMeant) {
  Finding dead = poll({"poll", "ask", "main"});
  dead.result = 0;
  expect(dead, "unknown", "timed out", 0);
  Finding condition = futex({"pthread_cond_timedwait", "worker", "start_thread"});
  condition.result = -110;
  condition.error = "ETIMEDOUT";
  expect(condition, "unknown", "timed out", 0);
  Finding read = slept("read", "sk_wait_data");
  expect(read, "unknown", "", 900);
  read.waits[0].waker = Waker{.context = "vector local_timer", .means = "timeout"};
  expect(read, "unknown", "timed out", 0);
}

TEST(WaitPurpose, OfAThreadThatServesACommandOfAClientIsAnAnswer) {
  expect(futex({"pthread_cond_timedwait", "MDL_wait::timed_wait(THD*)", "do_alter(THD*)",
                "dispatch_command(enum_server_command, THD*, char*)", "do_command(THD*, bool)"}),
         "answer", "dispatch_command", 0);
  EXPECT_EQ(purpose_of(futex({"pthread_cond_timedwait", "Item_func_sleep::val_int()",
                              "dispatch_command(enum_server_command, THD*, char*)"}))
                .of,
            "time");
}

TEST(WaitPurpose, OfRoomInAQueueIsNoWork) {
  Finding send = slept("sendto", "unix_wait_for_peer");
  called_by(send, {"send", "work", "start_thread"});
  EXPECT_EQ(purpose_of(send).meant_ns, 0u);
}

TEST(WaitPurpose, OfNoDescriptorIsASleep) {
  Finding sleep = poll({"poll", "sleep_a_little", "main"}, "nfds=0");
  sleep.result = 0;
  sleep.latency_ns = 300'000'000;
  sleep.arguments.back() = "timeout=100";
  expect(sleep, "time", "its request", 100'000'000);
}

TEST(WaitPurpose, OfALoopThatTimedOutIsTheTimeThatItGave) {
  Finding loop = poll({"epoll_wait", "aeProcessEvents", "aeMain"});
  loop.name = "epoll_wait";
  loop.result = 0;
  loop.latency_ns = 300'000'000;
  loop.waits[0].ns = 290'000'000;
  loop.arguments = {"epfd=5", "events=0x1", "maxevents=100", "timeout=100"};
  expect(loop, "work", "aeProcessEvents", 100'000'000);
}

TEST(WaitPurpose, IsNotWhatWasWaitedForACpuOrADisk) {
  Finding late = poll({"epoll_wait", "aeProcessEvents"});
  late.waits[0] = {
      .ns = 950, .runqueue_ns = 650, .state = "sleeping", .kernel_stack = {{.name = "ep_poll"}}};
  expect(late, "work", "aeProcessEvents", 300);
  Finding disk = slept("read", "pipe_read");
  disk.waits[0].state = "uninterruptible";
  expect(disk, "", "", 0);
  expect(slept("write", "pipe_write"), "", "", 0);
  expect(slept("fsync", "submit_bio_wait"), "", "", 0);
}

TEST(WaitPurpose, OfInputThatNoStackDecidesIsUnknown) {
  for (const char* const function : {"pipe_read", "ep_poll.constprop.0", "sk_wait_data"})
    expect(slept("read", function), "unknown", "", 900);
  Finding twice = slept("read", "pipe_read", 300);
  twice.waits.push_back(twice.waits[0]);
  expect(twice, "unknown", "", 600);
  expect(poll({"poll", "wait_for_it", "main"}, "nfds=1"), "unknown", "one descriptor", 0);
}

TEST(WaitPurpose, OfThreadsOfTheKernelInTheirMainFunctionIsWork) {
  const auto off = [](std::string_view span, std::initializer_list<const char*> outermost_first) {
    Finding finding = slept("sleeping", "");
    finding.span = span;
    finding.waits[0].kernel_stack.clear();
    for (const char* const name : outermost_first)
      finding.waits[0].kernel_stack.insert(finding.waits[0].kernel_stack.begin(), {.name = name});
    return finding;
  };
  expect(off("offcpu", {"ret_from_fork", "kthread", "worker_thread", "schedule"}), "work",
         "its main function", 900);
  expect(off("offcpu", {"ret_from_fork_asm", "io_wq_worker", "schedule_timeout"}), "work",
         "its main function", 900);
  expect(off("offcpu", {"ret_from_fork_asm", "io_wq_worker", "io_write", "folio_wait_bit"}), "", "",
         0);
  expect(
      off("offcpu", {"ret_from_fork", "kthread", "kjournald2", "jbd2_journal_commit", "schedule"}),
      "", "", 0);
  expect(off("offcpu", {"do_syscall_64", "do_sys_poll", "schedule"}), "unknown", "", 900);
  expect(off("offcpu", {"do_syscall_64", "hrtimer_nanosleep", "schedule"}), "time", "its request",
         900);
  for (const char* const span : {"wakeup", "lock", "pair", "work"})
    expect(off(span, {"do_syscall_64", "do_sys_poll", "schedule"}), "", "", 0);
}

/// A wait of a pool thread that begins in take() and runs a task now and then.
Finding of_pool(std::uint32_t tid, std::initializer_list<const char*> functions) {
  Finding finding = futex(functions);
  finding.thread.tid = tid;
  return finding;
}

TEST(WaitHabits, OfSeveralThreadsMayBeForWork) {
  WaitHabits habits;
  const auto take = [&](std::uint32_t tid) {
    return purpose_of(of_pool(tid, {"pthread_cond_wait", "take", "run", "start_thread"}), habits);
  };
  for (const std::uint32_t tid : {5u, 5u, 6u}) EXPECT_EQ(take(tid).meant_ns, 0u);
  const WaitPurpose habit = take(6);
  EXPECT_EQ(habit.of, "unknown");
  EXPECT_EQ(habit.by, "habit");
  EXPECT_EQ(habit.meant_ns, 900u);
  for (std::uint32_t i = 0; i < 9; ++i) {
    const Finding task =
        of_pool(5 + i % 2, {"pthread_cond_wait", "get", "task", "take", "run", "start_thread"});
    EXPECT_EQ(purpose_of(task, habits).meant_ns, 0u) << "their threads wait elsewhere with less";
  }
}

TEST(WaitHabits, AThreadThatSleepsNearerToItsBeginWaitsForNoWork) {
  WaitHabits habits;
  for (const std::uint32_t tid : {5u, 6u, 5u, 6u, 5u, 6u}) {
    Finding sleep = slept("clock_nanosleep", "hrtimer_nanosleep");
    sleep.thread.tid = tid;
    called_by(sleep, {"clock_nanosleep", "request", "start_thread"});
    purpose_of(sleep, habits);
    EXPECT_EQ(
        purpose_of(of_pool(tid, {"sem_wait", "lock_cache", "request", "start_thread"}), habits)
            .meant_ns,
        0u);
  }
}

TEST(WaitHabits, InputOfAThreadWithAnEventLoopIsLate) {
  const auto read_below = [](const char* function) {
    Finding finding = slept("read", "anon_pipe_read");
    called_by(finding, {"read", function, "callback", "run_loop", "main"});
    return finding;
  };
  WaitHabits habits;
  EXPECT_EQ(purpose_of(read_below("load"), habits).meant_ns, 900u) << "no loop is known yet";
  EXPECT_EQ(purpose_of(read_below("uv_run")).meant_ns, 0u);
  Finding loop = slept("epoll_wait", "do_epoll_wait");
  loop.result = 1;
  called_by(loop, {"epoll_wait", "run_loop", "main"});
  purpose_of(loop, habits);
  const WaitPurpose purpose = purpose_of(read_below("load"), habits);
  EXPECT_EQ(purpose.meant_ns, 0u);
  EXPECT_EQ(purpose.by, "its event loop waits");
}

Finding turn_of_loop(std::int64_t events) {
  Finding loop = slept("epoll_wait", "do_epoll_wait");
  loop.result = events;
  called_by(loop, {"epoll_wait", "run_loop", "main"});
  return loop;
}

WaitPurpose sleep_after(const Finding& loop, std::initializer_list<const char*> functions) {
  WaitHabits habits;
  purpose_of(loop, habits);
  Finding sleep = slept("clock_nanosleep", "hrtimer_nanosleep");
  sleep.result = 0;
  called_by(sleep, functions);
  return purpose_of(sleep, habits);
}

TEST(WaitHabits, ASleepInACallbackHoldsUpTheEventLoop) {
  const auto callback = {"clock_nanosleep", "backoff", "callback", "run_loop", "main"};
  const WaitPurpose purpose = sleep_after(turn_of_loop(1), callback);
  EXPECT_EQ(purpose.meant_ns, 0u);
  EXPECT_EQ(purpose.by, "its event loop waits");
  EXPECT_EQ(sleep_after(turn_of_loop(0), callback).by, "its request") << "no event ever comes";
}

TEST(WaitHabits, ALoopThatSleepsItselfDoesSoOnPurpose) {
  EXPECT_EQ(sleep_after(turn_of_loop(1), {"clock_nanosleep", "run_loop", "main"}).by,
            "its request");
}

TEST(WaitHabits, APoolBehindABusyThreadIsNotIdle) {
  WaitHabits habits;
  const auto take = [&](std::uint64_t ran_ns) {
    Finding finding = of_pool(5 + ran_ns % 2, {"park", "take", "run", "start_thread"});
    ChainLink link;
    link.what = "ran";
    link.ns = ran_ns;
    link.is_thread = true;
    finding.chain = {link};
    return purpose_of(finding, habits);
  };
  for (const std::uint64_t ran_ns : {100u, 101u, 100u, 101u}) take(ran_ns);
  EXPECT_EQ(take(100).by, "habit");
  EXPECT_EQ(take(901).meant_ns, 0u);
}

TEST(WaitHabits, OfOneThreadSaysNothing) {
  WaitHabits habits;
  for (int i = 0; i < 20; ++i)
    EXPECT_EQ(purpose_of(of_pool(5, {"pthread_cond_wait", "get", "run", "start_thread"}), habits)
                  .meant_ns,
              0u);
}

Finding received(const CallObject& object) {
  Finding receive = slept("recvfrom", "sk_wait_data");
  receive.arguments = {"fd=3"};
  called_by(receive, {"recv", "fetch", "handle", "main"});
  receive.object = object;
  return receive;
}

TEST(WaitPurpose, OfAConnectionDependsOnItsSide) {
  expect(received({.side = "server"}), "work", "a server's socket", 900);
  expect(received({.side = "listener"}), "work", "a listener's socket", 900);
  expect(received({.side = "client"}), "answer", "a client's socket", 0);
  expect(received({.kind = "pipe"}), "unknown", "", 900);
}

TEST(WaitPurpose, OfAClientIsAnAnswerIfItHasAsked) {
  // It asked 300 ns before the answer, in a call of 1000 ns.
  expect(received({.side = "client", .written_ns = 300, .received_ns = 0}), "answer",
         "a client's socket", 700);
  // Long before: it may have subscribed to messages.
  expect(received({.side = "client", .written_ns = 90'000'000'000, .received_ns = 0}), "unknown",
         "", 900);
  Finding open = received({.side = "client", .written_ns = 900, .received_ns = 2000});
  open.type = "hang";
  expect(open, "answer", "a client's socket", 100);
  open.object->received_ns = 500;  // the peer has spoken since
  expect(open, "unknown", "", 900);
}

}  // namespace
}  // namespace overdue

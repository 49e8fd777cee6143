#include "report/why/root.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <string_view>

#include "report/why/kernel_side.h"
#include "report/why/known_waits.h"

namespace overdue::root_test {
namespace {

constexpr std::uint64_t ms = 1'000'000;

StackFrame own(const char* name) {
  return {.name = name, .module = "/bin/app"};
}

TEST(OwnPlace, IsNoGlueOfRustUnlessNothingElseIsThere) {
  const char* glue = "std::sys::backtrace::__rust_begin_short_backtrace";
  const char* park = "<std::thread::thread::Thread>::park";
  EXPECT_EQ(
      own_place({own(park), own("m::take"), own("m::main"), own(glue), own("std::rt::lang_start")}),
      "m::take ← m::main");
  EXPECT_EQ(own_place({own(park), own(glue), own("std::rt::lang_start::{{closure}}")}),
            std::string(glue) + " ← std::rt::lang_start::{{closure}}");
}

TEST(OwnPlace, IsNoFunctionOfTheKernelsInTheProgram) {
  const StackFrame clock{.name = "clock_gettime", .module = "[vdso]"};
  EXPECT_EQ(own_place({clock, own("now"), own("compute")}), "now ← compute");
}

TEST(OwnPlace, IsTheJavaMethodIfItsNameIsKnown) {
  const StackFrame enter{.name = "ObjectMonitor::enter", .module = "/usr/lib/libjvm.so"};
  const StackFrame unnamed{.module = "[anon]"};
  const StackFrame method{.name = "void Orders.book(long)", .module = "[jit]", .is_jit = true};
  const StackFrame interpreter{.name = "Interpreter", .module = "[jit]", .is_jit = true};
  EXPECT_EQ(own_place({enter, interpreter, method, interpreter}), "void Orders.book(long)");
  EXPECT_EQ(own_place({enter, unnamed, interpreter}), "ObjectMonitor::enter ← Interpreter");
}

Stack kernel_stack_of(std::initializer_list<const char*> names) {
  Stack stack;
  for (const char* name : names)
    stack.push_back({.name = name, .module = "[kernel]", .is_kernel = true});
  return stack;
}

/// A call on a file, blocked for 10 ms in these functions.
Finding call_on(std::string_view call, std::string path, Stack kernel_stack) {
  Finding finding;
  finding.span = "syscall";
  finding.name = call;
  finding.thread = {.pid = 10, .tid = 11, .comm = "writer-1"};
  finding.latency_ns = 10 * ms;
  finding.object = CallObject{.kind = "file", .text = std::move(path)};
  finding.breakdown = Breakdown{{ShareKind::uninterruptible, 10 * ms}};
  finding.waits = {
      {.ns = 4 * ms, .state = "uninterruptible", .kernel_stack = std::move(kernel_stack)}};
  finding.places = {{.state = "uninterruptible", .ns = 10 * ms, .count = 3, .blocked_ns = 10 * ms}};
  return finding;
}

ChainLink disk_completion_of(std::string disk) {
  ChainLink link;
  link.what = "softirq BLOCK";
  link.means = "disk completion";
  link.disk = std::move(disk);
  return link;
}

ChainLink waiter(std::string comm, const char* function) {
  ChainLink link;
  link.thread = {.pid = 10, .tid = 12, .comm = std::move(comm)};
  link.what = "waited";
  link.is_thread = true;
  link.ns = 4 * ms;
  link.kernel_stack = kernel_stack_of({function});
  return link;
}

Finding ended_by_disk(Finding finding) {
  finding.waits[0].waker = Waker{.means = "disk completion", .disk = "vda"};
  finding.chain = {disk_completion_of("vda")};
  return finding;
}

TEST(KernelSide, IsWhatTheOutermostFunctionSays) {
  EXPECT_EQ(kernel_side_of(kernel_stack_of(
                {"do_user_addr_fault", "exc_page_fault", "copy_to_user", "do_syscall_64"})),
            KernelSide::call);
  EXPECT_EQ(kernel_side_of(kernel_stack_of({"folio_wait_bit", "asm_exc_page_fault"})),
            KernelSide::page_fault);
  EXPECT_EQ(kernel_side_of(kernel_stack_of({"seccomp_do_user_notification", "__seccomp_filter",
                                            "syscall_trace_enter", "do_syscall_64"})),
            KernelSide::before_call);
  EXPECT_EQ(kernel_side_of(kernel_stack_of({"folio_wait_bit", "io_write", "io_wq_worker"})),
            KernelSide::io_uring);
  EXPECT_EQ(kernel_side_of(kernel_stack_of({"__refrigerator", "get_signal"})), KernelSide::unknown);
}

TEST(RootOf, AllWaitsToWriteOneFileToADiskAreOneCause) {
  const Finding itself =
      ended_by_disk(call_on("fsync", "/log", kernel_stack_of({"folio_wait_bit"})));
  const Finding room = ended_by_disk(call_on("write", "/log", kernel_stack_of({"wait_on_buffer"})));
  Finding behind = call_on("fsync", "/log", kernel_stack_of({"jbd2_log_wait_commit"}));
  behind.chain = {waiter("jbd2/vda-8", "kthread"), disk_completion_of("vda")};
  Finding lock = call_on("write", "/log", kernel_stack_of({"down_write"}));
  lock.chain = {waiter("writer-2", "folio_wait_bit"), disk_completion_of("vda")};
  const std::string key = root_of(itself).key;
  for (const Finding& finding : {room, behind, lock}) EXPECT_EQ(root_of(finding).key, key);
  EXPECT_EQ(root_of(itself).explained_ns, 10 * ms) << "equal waits are explained alike";

  Finding of_another = itself;
  of_another.object->text = "/data";
  EXPECT_NE(root_of(of_another).key, key);
  Finding read = itself;
  read.name = "read";
  EXPECT_NE(root_of(read).key, key) << "what is written need not be what is read";
  Finding behind_sleeper = lock;
  behind_sleeper.chain.back().means = "timeout";
  behind_sleeper.chain.back().what = "vector local_timer";
  EXPECT_NE(root_of(behind_sleeper).key, key) << "no disk made it wait";
}

TEST(RootOf, AMemoryLimitIsTheRootWhateverEndsItsWaits) {
  const Stack reclaim = kernel_stack_of({"reclaim_throttle", "try_to_free_mem_cgroup_pages"});
  const Finding write = ended_by_disk(call_on("pwrite64", "/data", reclaim));
  Finding fault = call_on("", "", reclaim);
  fault.span = "offcpu";
  fault.object.reset();
  fault.chain = {waiter("kworker/1:1", "kthread")};
  const Root root = root_of(write);
  EXPECT_EQ(root.operation, std::string(cgroup_reclaim) + ": pwrite64(/data)");
  EXPECT_EQ(root.by, "disk vda");
  EXPECT_EQ(root.explained_ns, 10 * ms);
  EXPECT_EQ(root_of(fault).key, root.key);
  EXPECT_FALSE(root_of(fault).thread);
  fault.thread.pid = 20;
  EXPECT_NE(root_of(fault).key, root.key) << "the cgroup may be another one";
}

TEST(RootOf, TheSenderOfASignalIsNotWhatACallWaitsFor) {
  Finding read = call_on("read", "/data", kernel_stack_of({"wait_woken", "sk_wait_data"}));
  read.waits[0].waker = Waker{.thread = {.pid = 10, .tid = 12, .comm = "profiler"},
                              .context = "thread",
                              .is_thread = true,
                              .stack = kernel_stack_of({"try_to_wake_up", "complete_signal"})};
  read.chain = {waiter("profiler", "do_nanosleep")};
  EXPECT_FALSE(root_of(read).thread);
  EXPECT_EQ(root_of(read).by, "");
  Finding child = read;
  child.waits[0].kernel_stack = kernel_stack_of({"do_wait", "kernel_wait4"});
  EXPECT_TRUE(root_of(child).thread) << "it waits for this";
  read.waits[0].waker->stack = kernel_stack_of({"try_to_wake_up", "sock_def_readable"});
  EXPECT_TRUE(root_of(read).thread);
}

TEST(RootOf, AQuestionThatWasSentAgainIsTheNetworkWhateverTheOtherSideDid) {
  Finding read = call_on("read", "/data", kernel_stack_of({"wait_woken", "sk_wait_data"}));
  read.object = CallObject{.kind = "socket", .remote = "10.0.0.1:80", .side = "client"};
  read.chain = {waiter("server", "ep_poll")};
  EXPECT_TRUE(root_of(read).thread);
  read.object->resends = 2;
  read.object->resent_ns = read.latency_ns / 2 - 1;
  EXPECT_TRUE(root_of(read).thread) << "most of the wait came later";
  read.object->resent_ns = read.latency_ns / 2 + 1;
  const Root root = root_of(read);
  EXPECT_FALSE(root.thread);
  EXPECT_EQ(root.by, "network");
  EXPECT_EQ(root.explained_ns, read.object->resent_ns);
  EXPECT_TRUE(root.operation.starts_with("network: 10.0.0.1:80 did not acknowledge"))
      << root.operation;
}

TEST(RootOf, AThreadThatIsStillStoppedHasItsTracer) {
  Finding open = call_on("read", "/data", kernel_stack_of({"ptrace_stop"}));
  open.type = "hang";
  open.kernel_stack = open.waits[0].kernel_stack;
  open.waits[0].means = "traced";
  EXPECT_EQ(root_of(open).operation, "traced, and not continued");
  open.waits[0].tracer = ThreadName{0, 7, "gdb"};
  EXPECT_EQ(root_of(open).operation, "traced by gdb[7], and not continued");
  EXPECT_EQ(root_of(open).by, "gdb[7]");
}

TEST(RootOf, ACollectionOfGarbageIsCalledSo) {
  const auto of_jvm = [](const char* name) {
    return StackFrame{.name = name, .module = "/usr/lib/jvm/libjvm.so"};
  };
  Finding finding = call_on("futex", "", kernel_stack_of({"futex_wait"}));
  finding.user_stack = Stack{of_jvm("SafepointSynchronize::block(JavaThread*)")};
  ChainLink collector;
  collector.is_thread = true;
  collector.thread = {.pid = 10, .tid = 12, .comm = "VM Thread"};
  collector.what = "ran";
  collector.ns = 9 * ms;
  collector.on_cpu.places = {{.samples = 3,
                              .stack = {of_jvm("BlockOffsetArray::alloc_block(HeapWord*)"),
                                        of_jvm("TenuredGeneration::compact()")}}};
  finding.chain = {collector};
  EXPECT_TRUE(root_of(finding).activity.starts_with("collected garbage in "))
      << root_of(finding).activity;
  finding.chain[0].on_cpu.places[0].stack.pop_back();
  EXPECT_TRUE(root_of(finding).activity.starts_with("ran in ")) << root_of(finding).activity;
}

TEST(Root, IsNoWorkerOfTheKernelsThatHadNothingToDo) {
  Finding finding = call_on("read", "/srv/data", kernel_stack_of({"io_schedule"}));
  ChainLink worker;
  worker.is_thread = true;
  worker.thread = {.pid = 7, .tid = 7, .comm = "kworker/1:0"};
  worker.what = "waited";
  worker.ns = 9 * ms;
  worker.kernel_stack = kernel_stack_of({"schedule", "worker_thread", "kthread"});
  finding.chain = {worker};
  finding.waits[0].ns = 10 * ms;
  EXPECT_FALSE(root_of(finding).thread);
  EXPECT_TRUE(root_of(finding).operation.ends_with(", ended by kworker/*:*"))
      << root_of(finding).operation;

  finding.chain[0].kernel_stack =
      kernel_stack_of({"io_schedule", "process_one_work", "worker_thread", "kthread"});
  EXPECT_TRUE(root_of(finding).thread);
}

}  // namespace
}  // namespace overdue::root_test

#include "report/why/known_waits.h"

#include <initializer_list>

#include <gtest/gtest.h>

namespace overdue::known_waits_test {
namespace {

/// Innermost first.
Stack kernel(std::initializer_list<const char*> names) {
  Stack stack;
  for (const char* name : names)
    stack.push_back({.name = name, .module = "[kernel]", .is_kernel = true});
  return stack;
}

std::string_view wait_in(std::initializer_list<const char*> names,
                         std::string_view state = "uninterruptible") {
  Wait wait;
  wait.state = state;
  wait.kernel_stack = kernel(names);
  return known_kernel_wait(wait);
}

TEST(KnownKernelWait, NamesLocksByTheInnermostFunction) {
  EXPECT_EQ(wait_in({"vm_mmap_pgoff", "do_syscall_64"}), "mmap_lock");
  EXPECT_EQ(wait_in({"ext4_buffered_write_iter", "vfs_write", "do_syscall_64"}),
            "the lock of a file's inode");
  EXPECT_EQ(wait_in({"folio_wait_bit", "ext4_buffered_write_iter", "vfs_write"}), "")
      << "a wait for a disk";
  EXPECT_EQ(wait_in({"vm_mmap_pgoff", "do_syscall_64"}, "sleeping"), "");
}

TEST(KnownKernelWait, NamesTheRoomInTheQueueOfASocket) {
  EXPECT_EQ(wait_in({"unix_wait_for_peer", "unix_dgram_sendmsg", "__sys_sendto"}, "sleeping"),
            "room in a socket");
  EXPECT_EQ(wait_in({"unix_wait_for_peer", "unix_stream_connect", "__sys_connect"}, "sleeping"),
            "room in the listen queue of a unix socket");
}

std::string_view work_in(std::initializer_list<const char*> names, const Stack& user = {}) {
  const KernelWork* work = kernel_work_in(kernel(names), user);
  return work ? work->name : "";
}

TEST(KernelWork, HasTheNameOfWhatTheThreadAskedFor) {
  EXPECT_EQ(work_in({"clear_page", "do_anonymous_page", "exc_page_fault"}), "page faults");
  EXPECT_EQ(work_in({"copy_pte_range", "dup_mmap", "copy_process", "do_syscall_64"}),
            "copies of page tables (fork)");
  EXPECT_EQ(work_in({"native_queued_spin_lock_slowpath", "exc_page_fault"}),
            "a spin lock of the kernel");
  EXPECT_EQ(work_in({"vfs_read", "do_syscall_64"}), "");
  EXPECT_EQ(work_in({}, {{.name = "on_alarm"}, {.name = "__restore_rt"}, {.name = "work"}}),
            "signals");
}

TEST(KernelWork, OfAnInterruptIsNotTheThreads) {
  const std::initializer_list<const char*> packets = {"udp_queue_rcv_skb", "net_rx_action",
                                                      "__do_softirq", "__irq_exit_rcu",
                                                      "sysvec_call_function_single"};
  EXPECT_EQ(work_in(packets), "interrupts");
  EXPECT_EQ(softirq_in(kernel(packets)), "softirq NET_RX");
  EXPECT_EQ(work_in({"native_queued_spin_lock_slowpath", "__do_softirq", "irq_exit_rcu",
                     "common_interrupt"}),
            "interrupts");
  EXPECT_EQ(work_in({"net_rx_action", "__do_softirq", "do_softirq", "__local_bh_enable_ip",
                     "udp_sendmsg", "do_syscall_64"}),
            "")
      << "the call has raised the softirq itself";
  EXPECT_EQ(work_in({"__irq_exit_rcu", "sysvec_apic_timer_interrupt"}), "") << "no softirq ran";
}

TEST(KnownLock, OfAServerHasItsName) {
  const auto lock_in = [](const char* function, const char* call = "pthread_cond_timedwait") {
    const KnownLock* lock = known_lock_in(
        {{.name = call, .module = "/lib/libc.so.6"},
         {.name = function, .module = "/usr/sbin/mariadbd"},
         {.name = "dispatch_command(enum_server_command, THD*, char*, unsigned int, bool)",
          .module = "/usr/sbin/mariadbd"}});
    return lock && lock->is_only_lock ? lock->name : "";
  };
  EXPECT_EQ(lock_in("MDL_context::acquire_lock(MDL_request*, double)"),
            "a metadata lock of MariaDB");
  EXPECT_EQ(lock_in("handler::ha_update_row(unsigned char const*, unsigned char const*)"),
            "a lock of MariaDB's storage engine");
  EXPECT_EQ(lock_in("handler::ha_rnd_next(unsigned char*)", "pread64"), "") << "a disk";
  EXPECT_EQ(lock_in("Item_func_sleep::val_int()"), "");
}

TEST(KnownLock, OfTheAllocatorHasItsName) {
  const auto lock_in = [](std::initializer_list<const char*> names) {
    Stack stack;
    for (const char* name : names) stack.push_back({.name = name, .module = "/lib/libc.so.6"});
    stack.push_back({.name = "parse", .module = "/bin/app"});
    const KnownLock* lock = known_lock_in(stack);
    return lock ? lock->name : "";
  };
  EXPECT_EQ(lock_in({"__lll_lock_wait_private", "_int_free", "free"}), "malloc's lock of an arena");
  EXPECT_EQ(lock_in({"__lll_lock_wait_private", "fputs"}), "a lock of the C library");
  EXPECT_EQ(lock_in({"futex_wait"}), "");
}

TEST(KnownKernelWait, NamesReclaimAnywhereInTheStack) {
  EXPECT_EQ(wait_in({"reclaim_throttle", "shrink_node", "do_try_to_free_pages",
                     "try_to_free_mem_cgroup_pages", "try_charge_memcg", "vfs_write"}),
            "memory reclaim at the limit of the cgroup");
  EXPECT_EQ(wait_in({"shrink_node", "do_try_to_free_pages", "try_to_free_pages"}),
            "memory reclaim");
  EXPECT_EQ(wait_in({"locks_lock_inode_wait", "__do_sys_flock"}, "sleeping"), "a lock of a file");
}

TEST(KnownLock, OfPythonIsKnownByTheCallOfTheCLibrary) {
  const auto stack = [](const char* function) {
    Stack all;
    all.push_back({.name = function, .module = "/usr/lib/libc.so.6"});
    all.push_back({.name = "", .module = "/usr/bin/python3.11"});
    return all;
  };
  ASSERT_NE(known_lock_in(stack("pthread_cond_timedwait")), nullptr);
  EXPECT_EQ(known_lock_in(stack("pthread_cond_timedwait"))->name, "Python's GIL");
  EXPECT_EQ(known_lock_in(stack("sem_clockwait")), nullptr);
}

TEST(KnownLock, OfPostgres) {
  const Stack stack = {{.name = "epoll_wait", .module = "/usr/lib/libc.so.6"},
                       {.name = "WaitLatch", .module = "/usr/lib/postgresql/15/bin/postgres"},
                       {.name = "ProcSleep", .module = "/usr/lib/postgresql/15/bin/postgres"}};
  ASSERT_NE(known_lock_in(stack), nullptr);
  EXPECT_EQ(known_lock_in(stack)->name, "a lock of PostgreSQL");
  EXPECT_TRUE(known_lock_in(stack)->is_only_lock);
}

}  // namespace
}  // namespace overdue::known_waits_test

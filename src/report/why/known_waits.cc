#include "report/why/known_waits.h"

#include <algorithm>
#include <iterator>

#include "analysis/wait_functions.h"
#include "report/why/unnamed_code.h"

namespace overdue {
namespace {

constexpr KnownLock known_locks[] = {
    {"take_gil", "Python's GIL", true},
    {"PyThread_acquire_lock_timed", "a lock of Python", false, false},
    {"pthread_mutex_lock", "", false},
    {"__pthread_mutex_lock_full", "", false},
    {"pthread_mutex_timedlock", "", false},
    {"pthread_mutex_clocklock", "", false},
    {"pthread_rwlock_*lock", "", false},
    {"SafepointSynchronize::block", jvm_safepoint, true},
    {"SafepointMechanism::process*", jvm_safepoint, true},
    {"VM_*::evaluate*", jvm_safepoint, true},
    {"VMThread::wait_until_executed", jvm_safepoint, true},
    {"ObjectMonitor::enter*", "a Java monitor", false},
    {"ObjectMonitor::EnterI", "a Java monitor", false},
    {"ProcSleep", "a lock of PostgreSQL", false},
    {"WaitOnLock", "a lock of PostgreSQL", false},
    {"LWLockAcquire*", "a lightweight lock of PostgreSQL", false},
    {"MDL_context::acquire_lock*", "a metadata lock of MariaDB", false},
    {"handler::ha_*", "a lock of MariaDB's storage engine", false, true, "pthread_cond_*wait"},
    {"__lll_lock_wait_private", "a lock of the C library", false},
    {"gvl_acquire*", "Ruby's GVL", true},
    {"getaddrinfo", "DNS look-up (getaddrinfo)", false, false},
    {"gethostbyname*", "DNS look-up (gethostbyname)", false, false},
    {"__res_context_send", "DNS look-up", false, false},
};

/// Waits in the kernel, by a function anywhere in the stack.
struct KernelWait {
  std::string_view function;  ///< a glob
  std::string_view name;
};

constexpr KernelWait reclaims[] = {
    {"try_to_free_mem_cgroup_pages", cgroup_reclaim},
    {"mem_cgroup_handle_over_high", cgroup_reclaim},
    {"try_to_free_pages", "memory reclaim"},
    {"do_try_to_free_pages", "memory reclaim"},
    {"__alloc_pages_direct_reclaim", "memory reclaim"},
    {"try_to_compact_pages", "memory compaction"},
};

/// The first that is found decides.
constexpr KernelWork works[] = {
    {"*queued_spin_lock_slowpath", "a spin lock of the kernel", 25},
    {"dup_mmap", "copies of page tables (fork)", 25},
    {"exit_mmap", "release of memory (exit)", 25},
    {"bprm_execve", "starts of programs (execve)", 25},
    {"arch_do_signal_or_restart", "signals", 10},
    {"*_sys_rt_sigreturn", "signals", 10},
    {"exc_page_fault", "page faults", 50},
    {"asm_exc_page_fault", "page faults", 50},
};

constexpr KernelWork handlers = {"", "signals", 10, false, true};

/// Interrupts with the softirqs that they leave to their end. Softirqs that the thread's own call
/// has raised end with that call, and are its work.
constexpr KernelWork interrupt_work = {"*irq_exit*", "interrupts", 10, true};

struct Softirq {
  std::string_view function;  ///< a glob
  std::string_view name;
};
constexpr Softirq softirqs[] = {
    {"net_rx_action", "softirq NET_RX"},
    {"net_tx_action", "softirq NET_TX"},
    {"blk_done_softirq", "softirq BLOCK"},
    {"run_timer_softirq", "softirq TIMER"},
    {"hrtimer_run_softirq", "softirq HRTIMER"},
    {"tasklet*_action*", "softirq TASKLET"},
    {"rcu_core*", "softirq RCU"},
};

/// The C library's way back from a signal handler.
constexpr std::string_view after_handler = "__restore_rt";

constexpr std::string_view lock_of_file = "a lock of a file";

constexpr KernelWait waits_anywhere[] = {
    {"do_swap_page", "memory that was swapped out"},
    {"balance_dirty_pages*", page_writeback},
    {"locks_lock_inode_wait", lock_of_file},
    {"fcntl_setlk*", lock_of_file},
    {"anon_pipe_write", "room in a pipe"},
    {"pipe_write", "room in a pipe"},
    {"sk_stream_wait_memory", "room in a socket"},
    {"unix_dgram_sendmsg", "room in a socket"},
    {"unix_stream_connect", "room in the listen queue of a unix socket"},
    {"n_tty_write", "room in a terminal"},
    {"sk_stream_wait_close", "the last data, which the other side has not taken"},
    {"__break_lease", "a lease of a file"},
    {"seccomp_do_user_notification*", "the answer of a supervisor (seccomp)"},
};

/// Uninterruptible waits for a lock, by the innermost function that is not the lock's own.
constexpr KernelWait kernel_locks[] = {
    {"vm_mmap_pgoff", "mmap_lock"},
    {"__vm_munmap", "mmap_lock"},
    {"__do_sys_brk", "mmap_lock"},
    {"__x64_sys_brk", "mmap_lock"},
    {"do_mprotect_pkey*", "mmap_lock"},
    {"do_madvise*", "mmap_lock"},
    {"madvise_lock*", "mmap_lock"},
    {"lock_mm_and_find_vma", "mmap_lock"},
    {"do_user_addr_fault", "mmap_lock"},
    {"*_buffered_write_iter", "the lock of a file's inode"},
    {"*_file_write_iter", "the lock of a file's inode"},
    {"*_dio_write_iter", "the lock of a file's inode"},
    {"open_last_lookups", "the lock of a folder's inode"},
    {"lookup_slow", "the lock of a folder's inode"},
    {"iterate_dir", "the lock of a folder's inode"},
    {"filename_create", "the lock of a folder's inode"},
    {"do_unlinkat", "the lock of a folder's inode"},
    {"do_renameat2", "the lock of a folder's inode"},
};

bool is_of_malloc(const StackFrame& frame) {
  constexpr std::string_view functions[] = {"malloc",         "calloc",         "realloc",
                                            "free",           "_int_free*",     "_int_malloc",
                                            "arena_get*",     "__libc_malloc*", "__libc_free*",
                                            "__libc_calloc*", "__libc_realloc*"};
  return is_of_c_library(frame) && std::ranges::any_of(functions, [&](std::string_view function) {
           return is_named(function, frame.name);
         });
}

bool is_in_interrupt(const Stack& kernel_stack) {
  const auto end = std::ranges::find_if(kernel_stack, [](const StackFrame& frame) {
    return is_named(interrupt_work.function, frame.name);
  });
  return end != kernel_stack.begin() && end != kernel_stack.end();
}

}  // namespace

std::string_view without_parameters(std::string_view name) {
  return name.substr(0, name.find('('));
}

bool collects_garbage(const Stack& stack) {
  constexpr std::string_view collectors[] = {"VM_*Collect*",
                                             "*MarkSweep::*",
                                             "*GenCollectedHeap::*",
                                             "SerialHeap::*",
                                             "*Generation::*",
                                             "*MarkAndPush*",
                                             "G1*",
                                             "PS*::*",
                                             "*ParCompact*",
                                             "Shenandoah*",
                                             "ParallelScavenge*",
                                             "ZMark*",
                                             "ZRelocate*",
                                             "ZDriver*"};
  return std::ranges::any_of(stack, [&](const StackFrame& frame) {
    return is_of_jvm(frame) && std::ranges::any_of(collectors, [&](std::string_view collector) {
             return is_named(collector, without_parameters(frame.name));
           });
  });
}

bool is_of_python(const StackFrame& frame) {
  const std::string_view module = frame.module;
  const std::string_view file = module.substr(module.rfind('/') + 1);
  return file.starts_with("python3") || file.starts_with("libpython3");
}

const KnownLock* known_lock_in(const Stack& stack) {
  static constexpr KnownLock arena{"", "malloc's lock of an arena", false};
  // CPython has symbols for few functions; only its GIL waits for a condition with a timeout.
  const auto caller = std::ranges::find_if_not(stack, is_of_c_library);
  if (caller != stack.begin() && caller != stack.end() && is_of_python(*caller) &&
      without_parameters(std::prev(caller)->name).find("cond_timedwait") != std::string_view::npos)
    return &known_locks[0];
  for (auto frame = stack.begin(); frame != stack.end(); ++frame)
    for (const KnownLock& lock : known_locks) {
      if (!is_named(lock.function, without_parameters(frame->name))) continue;
      const auto is_inside = [&](const StackFrame& one) { return is_named(lock.inside, one.name); };
      if (!lock.inside.empty() && std::none_of(stack.begin(), frame, is_inside)) continue;
      const bool allocates = std::any_of(frame, stack.end(), is_of_malloc);
      return is_named("__lll_lock_wait_private", frame->name) && allocates ? &arena : &lock;
    }
  return nullptr;
}

std::string_view memory_reclaim_in(const Stack& kernel_stack) {
  for (const KernelWait& reclaim : reclaims)
    for (const StackFrame& frame : kernel_stack)
      if (is_named(reclaim.function, frame.name)) return reclaim.name;
  return {};
}

const KernelWork* kernel_work_in(const Stack& kernel_stack, const Stack& user_stack) {
  if (is_in_interrupt(kernel_stack)) return &interrupt_work;
  for (const KernelWork& work : works)
    for (const StackFrame& frame : kernel_stack)
      if (is_named(work.function, frame.name)) return &work;
  const bool is_in_handler = std::ranges::any_of(
      user_stack, [](const StackFrame& frame) { return frame.name == after_handler; });
  return is_in_handler ? &handlers : nullptr;
}

bool is_interrupt_work(std::string_view name) {
  return name == interrupt_work.name;
}

std::string_view softirq_in(const Stack& kernel_stack) {
  for (const Softirq& softirq : softirqs)
    for (const StackFrame& frame : kernel_stack)
      if (is_named(softirq.function, frame.name)) return softirq.name;
  return {};
}

bool is_kernel_lock(std::string_view name) {
  return name == lock_of_file ||
         std::ranges::find(kernel_locks, name, &KernelWait::name) != std::end(kernel_locks);
}

std::string_view known_kernel_wait(const Wait& wait) {
  if (const std::string_view name = memory_reclaim_in(wait.kernel_stack); !name.empty())
    return name;
  for (const KernelWait& known : waits_anywhere)
    for (const StackFrame& frame : wait.kernel_stack)
      if (is_named(known.function, frame.name)) return known.name;
  const std::vector<std::string> functions = telling_functions(wait.kernel_stack);
  if (wait.state != "uninterruptible" || functions.empty()) return {};
  for (const KernelWait& lock : kernel_locks)
    if (is_named(lock.function, functions.back())) return lock.name;
  return {};
}

}  // namespace overdue

#pragma once

#include <string_view>

#include "core/finding.h"

namespace overdue {

/// A lock of a runtime or a server, by the function that waits for the lock.
struct KnownLock {
  std::string_view function;  ///< a glob
  std::string_view name;      ///< empty: any lock
  bool is_one;                ///< the process has one such lock: all waits for it have one cause
  bool is_only_lock = true;   ///< false: the function also waits for work
  /// A glob: the function waits for the lock only if it has called this; empty: always.
  std::string_view inside = "";
};

/// KnownLock::name of the stops of all threads of a JVM.
inline constexpr std::string_view jvm_safepoint = "a safepoint of the JVM";

/// Whether a thread of a JVM with this stack collects garbage.
bool collects_garbage(const Stack& stack);

/// The name of a function without its parameters.
std::string_view without_parameters(std::string_view name);

/// The lock that the thread with this user stack waits for; null: not known.
const KnownLock* known_lock_in(const Stack& stack);

/// What a thread waits for in the kernel, by the functions in which it waits: "mmap_lock",
/// "memory reclaim"; empty: not known.
std::string_view known_kernel_wait(const Wait& wait);

/// Whether a name of known_kernel_wait() is that of a lock.
bool is_kernel_lock(std::string_view name);

/// Memory reclaim by a thread whose cgroup has all the memory that it may have.
inline constexpr std::string_view cgroup_reclaim = "memory reclaim at the limit of the cgroup";

/// A thread waits here until fewer pages are to be written to disks.
inline constexpr std::string_view page_writeback = "writeback of dirty pages";

/// Whether the kernel reclaims memory in this stack: `cgroup_reclaim`, "memory reclaim"; empty: it
/// does not.
std::string_view memory_reclaim_in(const Stack& kernel_stack);

/// Work of the kernel while a thread has the CPU.
struct KernelWork {
  std::string_view function;     ///< a glob
  std::string_view name;         ///< "page faults"
  unsigned least_percent;        ///< of the CPU time of threads, from which on the work is a cause
  bool is_of_interrupt = false;  ///< the work is for others: the thread was interrupted
  bool is_of_handler = false;    ///< the program's own work, in a handler of a signal
};

/// What the kernel does in this stack; null: nothing known.
const KernelWork* kernel_work_in(const Stack& kernel_stack, const Stack& user_stack);

/// Whether the work with this name is for others than the thread.
bool is_interrupt_work(std::string_view name);

/// The softirq whose function is in the stack: "softirq NET_RX"; empty: not known.
std::string_view softirq_in(const Stack& kernel_stack);

/// Frames of CPython's interpreter are the same whatever the program does.
bool is_of_python(const StackFrame& frame);

}  // namespace overdue

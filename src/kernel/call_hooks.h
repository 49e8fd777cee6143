#pragma once

namespace overdue {

/// The hooks of programs at the begin and the end of a system call.
enum class CallHooks {
  raw,       ///< `tp_btf`: the cheapest
  events,    ///< perf events at the same tracepoints, where the kernel preempts `tp_btf` programs
  preempted  ///< `tp_btf` although preempted: perf events need tracefs, which is missing
};

/// The hooks for this kernel. Linux 7.2 and newer may preempt a thread while a program runs in its
/// system call. The kernel skips a program that is under way on the CPU, so calls of other threads
/// there are missed. Reads the kernel's BTF once, on kernels that may preempt programs. Any thread.
/// Throws Error if such a kernel has no BTF.
CallHooks call_hooks();

/// The note that a report shows for CallHooks::preempted.
inline constexpr const char* preempted_hooks_note =
    "calls can be missed where threads are preempted (nested, in the receipt): tracefs is not "
    "there; mount -t tracefs nodev /sys/kernel/tracing";

}  // namespace overdue

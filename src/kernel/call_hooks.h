#pragma once

namespace overdue {

/// How programs come to the begin and the end of a system call.
enum class CallHooks {
  raw,       ///< `tp_btf`: the cheapest
  events,    ///< perf's road to the same tracepoints, where the kernel preempts those of `tp_btf`
  preempted  ///< `tp_btf` though it does: perf finds a tracepoint in tracefs, which is not there
};

/// The hooks for this kernel. Linux 7.2 and newer preempt a thread while a program of its system
/// call runs. The kernel passes over a program that is under way on a CPU, so that the other
/// threads' calls there are missed. Reads the kernel's BTF once, on kernels
/// that may. Any thread. Throws Error where such a kernel has no BTF.
CallHooks call_hooks();

/// What the reader of a report must know of CallHooks::preempted.
inline constexpr const char* preempted_hooks_note =
    "calls can be missed where threads are preempted (nested, in the receipt): tracefs is not "
    "there; mount -t tracefs nodev /sys/kernel/tracing";

}  // namespace overdue

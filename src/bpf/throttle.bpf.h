/* SPDX-License-Identifier: GPL-2.0 */
/* The time for which the CPU quota of its cgroup keeps a thread from running. Since Linux 6.18 such
 * a thread leaves the CPU on its way back to its program, the kernel marks the thread, and no
 * wake-up ends the wait. In older kernels the thread stays runnable, in a queue that the scheduler
 * skips: see probes/sched. */
#pragma once

#include "bpf/target.bpf.h"
#include "bpf/thread_ledger.h"

/* The time for which `queue` has been throttled so far, in ns. */
static __always_inline u64 throttled_time_of(const struct cfs_rq* queue) {
  if (!bpf_core_field_exists(queue->throttled_clock_self)) return 0;
  u64 since_ns = BPF_CORE_READ(queue, throttled_clock_self);
  u64 before_ns = BPF_CORE_READ(queue, throttled_clock_self_time);
  return since_ns ? before_ns + ns_between(since_ns, BPF_CORE_READ(queue, rq, clock)) : before_ns;
}

/* Not static: the verifier then checks the function once, not on every path of a switch. */
__noinline u64 throttled_since_mark(const struct thread_ledger* ledger) {
  if (!ledger) return 0;
  return ns_between(ledger->throttled_mark_ns,
                    throttled_time_of((const struct cfs_rq*)ledger->queue));
}

/* The throttled time of the thread of `ledger` since it left the CPU, by the kernel's own count. */
static __always_inline u64 throttled_since_left(const struct thread_ledger* ledger) {
  if (!bpf_core_field_exists(struct task_struct, throttled)) return 0;
  if (ledger->state != LEDGER_PREEMPTED || !ledger->queue) return 0;
  return throttled_since_mark(ledger);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* What a thread is kept from by the CPU quota of its cgroup. Since Linux 6.18 such a thread leaves
 * the CPU on the way back to its program, is marked, and is no wake-up's when its time comes. In
 * older kernels it stays runnable, in a queue that is not looked at: see probes/sched. */
#pragma once

#include "bpf/target.bpf.h"
#include "bpf/thread_ledger.h"

/* For how long threads have been kept in `queue` so far, in ns. */
static __always_inline u64 throttled_time_of(const struct cfs_rq* queue) {
  if (!bpf_core_field_exists(queue->throttled_clock_self)) return 0;
  u64 since_ns = BPF_CORE_READ(queue, throttled_clock_self);
  u64 before_ns = BPF_CORE_READ(queue, throttled_clock_self_time);
  return since_ns ? before_ns + ns_between(since_ns, BPF_CORE_READ(queue, rq, clock)) : before_ns;
}

/* Not static: the verifier then looks at it once, and not on every path of a switch. */
__noinline u64 throttled_since_mark(const struct thread_ledger* ledger) {
  if (!ledger) return 0;
  return ns_between(ledger->throttled_mark_ns,
                    throttled_time_of((const struct cfs_rq*)ledger->queue));
}

/* Of the thread of `ledger`, since it left the CPU; by the kernel's own account. */
static __always_inline u64 throttled_since_left(const struct thread_ledger* ledger) {
  if (!bpf_core_field_exists(struct task_struct, throttled)) return 0;
  if (ledger->state != LEDGER_PREEMPTED || !ledger->queue) return 0;
  return throttled_since_mark(ledger);
}

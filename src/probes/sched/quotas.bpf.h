/* SPDX-License-Identifier: GPL-2.0 */
/* Threads that are throttled by the CPU quota of their cgroup or of one above it. */
#pragma once

#include "bpf/quota_queues.bpf.h"
#include "bpf/throttled_waits.bpf.h"

const volatile u8 tells_throttles; /* 0: quotas are ignored */

/* The thread of `ledger` is throttled in its queue, and `*above` is the parent of its sched_entity.
 * Not static, like record_throttle(): the verifier then checks the function once, not on every path
 * of a switch. (The verifier lets an address pass as a number only through memory.) */
__noinline int note_throttler(struct thread_ledger* ledger, const u64* above) {
  if (!ledger || !above) return 0;
  struct cfs_rq* queue = (struct cfs_rq*)ledger->queue;
  ledger->throttled_mark_ns = throttled_time_of(queue);
  ledger->throttler = (u64)throttler_of(queue, (struct sched_entity*)*above);
  return 0;
}

/* Called as the thread leaves the CPU, runnable. */
static __always_inline void note_throttle(struct task_struct* task, struct thread_ledger* ledger) {
  ledger->queue = 0;
  if (!tells_throttles) return;
  bool marks = bpf_core_field_exists(task->throttled);
  if (marks && !task->throttled) return;
  ledger->queue = (u64)task->se.cfs_rq;
  u64 above = (u64)task->se.parent;
  if (marks) note_throttler(ledger, &above);
}

/* How long a quota kept the thread from running until `now_ns`. Newer kernels mark each throttled
 * thread. */
static __always_inline u64 quota_throttled(struct task_struct* task, struct thread_ledger* ledger,
                                           u64 now_ns) {
  if (bpf_core_field_exists(task->throttled)) return throttled_since_left(ledger);
  return any_throttled ? heard_throttled(task, ledger, now_ns) : 0;
}

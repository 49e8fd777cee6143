/* SPDX-License-Identifier: GPL-2.0 */
/* The throttled part of a wait, from the table of throttled queues. probes/sched fills the table;
 * objects that share it may look up waits that have not ended. */
#pragma once

#include "bpf/real_time_queues.bpf.h"
#include "bpf/wait.bpf.h"

/* How long a quota kept the thread from running until `now_ns`, in a kernel that only reports whole
 * queues as throttled. */
static __noinline u64 heard_throttled(struct task_struct* task, struct thread_ledger* ledger,
                                      u64 now_ns) {
  if (!task || !ledger || !bpf_core_field_exists(task->se.cfs_rq)) return 0;
  u64 queue = ledger->queue;
  if (ledger->state != LEDGER_PREEMPTED) queue = (u64)BPF_CORE_READ(task, se.cfs_rq);
  struct throttled_queue* known = throttled_queue_of((struct cfs_rq*)queue);
  if (!known) return 0;
  ledger->throttler = known->by;
  return throttled_between(known, runnable_since(ledger, now_ns), now_ns);
}

/* How long the real-time limit kept the thread at `*address` from running until `now_ns`. Not
 * static: see throttled_since_mark(). */
__noinline u64 kept_by_real_time_limit(const u64* address, struct thread_ledger* ledger,
                                       u64 now_ns) {
  if (!address || !ledger) return 0;
  struct real_time_wait wait = {
      .queue = ledger->real_time_queue, .from_ns = runnable_since(ledger, now_ns), .to_ns = now_ns};
  throttled_with_queues(address, &wait);
  if (wait.throttled_ns) ledger->throttler = wait.throttler;
  return wait.throttled_ns;
}

/* The same for a thread that is_real_time(). 0 for a thread woken on another CPU: when its queue
 * there was marked is uncertain. */
static __always_inline u64 real_time_throttled(struct task_struct* task,
                                               struct thread_ledger* ledger, u64 now_ns) {
  bool moved = ledger->real_time_queue != (u64)real_time_queue_of(task);
  if (moved && ledger->state != LEDGER_PREEMPTED) return 0;
  u64 address = (u64)task;
  return kept_by_real_time_limit(&address, ledger, now_ns);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* What keeps a runnable thread from running, besides another thread on its CPU: a CPU quota of its
 * cgroup, or the limit of real-time threads. */
#pragma once

#include "bpf/real_time_queues.bpf.h"
#include "probes/sched/quotas.bpf.h"

static __always_inline void note_real_time_left(struct task_struct* task,
                                                struct thread_ledger* ledger, u64 now_ns) {
  ledger->real_time_queue = note_real_time(task, now_ns);
}

static __always_inline u64 throttled_in_wait(struct task_struct* task, struct thread_ledger* ledger,
                                             u64 now_ns) {
  if (!is_real_time(task)) return quota_throttled(task, ledger, now_ns);
  if (!reached_real_time_limit(ledger->since_ns)) return 0;
  return real_time_throttled(task, ledger, now_ns);
}

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

/* 0 for a thread woken on another CPU: when its queue there was marked is uncertain. */
static __always_inline u64 real_time_throttled(struct task_struct* task,
                                               struct thread_ledger* ledger, u64 now_ns) {
  if (!reached_real_time_limit(ledger->since_ns)) return 0;
  bool moved = ledger->real_time_queue != (u64)real_time_queue_of(task);
  if (moved && ledger->state != LEDGER_PREEMPTED) return 0;
  u64 address = (u64)task;
  return kept_by_real_time_limit(&address, ledger, now_ns);
}

static __always_inline u64 throttled_in_wait(struct task_struct* task, struct thread_ledger* ledger,
                                             u64 now_ns) {
  return is_real_time(task) ? real_time_throttled(task, ledger, now_ns)
                            : quota_throttled(task, ledger, now_ns);
}

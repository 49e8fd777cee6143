/* SPDX-License-Identifier: GPL-2.0 */
/* Waits that are counted, for thresholds that are percentiles, or summed up. */
#pragma once

#include "bpf/latencies.bpf.h"
#include "bpf/span_sums.bpf.h"
#include "bpf/wait.bpf.h"
#include "probes/sched/samples.bpf.h"

/* Adds a wait to the sums. `subject` gives it its name. */
static __always_inline void sum_wait(struct task_struct* task, u32 kind, u64 subject,
                                     u64 latency_ns) {
  struct span_sum_key key = {.subject = subject, .kind = kind};
  if (!is_summed(kind) || !cpu_wanted()) return;
  count(add_to_sum(&key, latency_ns, task, 0) ? COUNTER_SPANS : COUNTER_CELLS_FULL, 1);
}

#define COUNTED_WAITS (1u << SPAN_OFFCPU | 1u << SPAN_WAKEUP)

/* Counts the wait of a member that ends, if thresholds are percentiles or waits are summed up. */
static __noinline int count_wait_of(struct task_struct* task, const struct thread_ledger* ledger,
                                    u64 now_ns) {
  if (!task || !ledger || !control.armed || (u32)task->tgid == own_pid) return 0;
  if (!find_of_thread(threads, task)) return 0;
  if (ledger->since_ns > control.since_ns[SPAN_OFFCPU]) {
    u64 latency_ns = ns_between(ledger->since_ns, now_ns);
    count_latency(SPAN_OFFCPU, latency_ns);
    if (summed_kinds) sum_wait(task, SPAN_OFFCPU, wait_state_of(ledger), latency_ns);
  }
  if (ledger->state != LEDGER_PREEMPTED && ledger->wake_ns > ledger->ran_since_ns &&
      ledger->wake_ns > control.since_ns[SPAN_WAKEUP] && ledger->wake_ns != WAKE_UNTIMED) {
    u64 latency_ns = ns_between(ledger->wake_ns, now_ns);
    u64 waker = (u64)ledger->waker_context << 32 | ledger->waker_number;
    count_latency(SPAN_WAKEUP, latency_ns);
    if (summed_kinds) sum_wait(task, SPAN_WAKEUP, waker, latency_ns);
  }
  return 0;
}

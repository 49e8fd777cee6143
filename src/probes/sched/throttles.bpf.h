/* SPDX-License-Identifier: GPL-2.0 */
/* What keeps a thread that could run from running, besides another thread on its CPU: a CPU quota
 * of its cgroup, or the limit of real-time threads. */
#pragma once

#include "bpf/throttle_record.bpf.h"
#include "probes/sched/quotas.bpf.h"
#include "probes/sched/real_time.bpf.h"

static __always_inline u64 throttled_in_wait(struct task_struct* task, struct thread_ledger* ledger,
                                             u64 now_ns) {
  return is_real_time(task) ? real_time_throttled(task, ledger, now_ns)
                            : quota_throttled(task, ledger, now_ns);
}

static __always_inline void fill_limit(struct sched_throttle* record, struct task_group* group,
                                       bool real_time) {
  if (!real_time) {
    fill_quota(record, group);
    return;
  }
  record->limit = THROTTLE_REAL_TIME;
  record->reserved = 0;
  if (bpf_core_field_exists(group->rt_bandwidth) && group) {
    record->quota_ns = BPF_CORE_READ(group, rt_bandwidth.rt_runtime);
    record->period_ns = BPF_CORE_READ(group, rt_bandwidth.rt_period);
  } else {
    record->quota_ns = real_time_runtime_ns;
    record->period_ns = real_time_period_ns;
  }
}

/* Whose limit it was, for the thread whose struct task_struct is at `*address`. */
__noinline int record_throttle(const u64* address, struct thread_ledger* ledger, u64 now_ns) {
  if (!address || !ledger || !ledger->throttler) return 0;
  void* ring = this_cpu_ring();
  struct sched_throttle* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  bool real_time = ledger->throttler & THROTTLER_OF_REAL_TIME;
  struct task_group* group = (struct task_group*)(ledger->throttler & ~THROTTLER_OF_REAL_TIME);
  fill_front(&record->header, *address, RECORD_SCHED_THROTTLE, sizeof(*record), now_ns);
  record->throttled_ns = ledger->throttled_ns;
  fill_limit(record, group, real_time);
  record->throttler_id = group ? BPF_CORE_READ(group, css.cgroup, kn, id) : 0;
  fill_names(record, group);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

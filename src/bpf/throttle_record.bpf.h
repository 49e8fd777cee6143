/* SPDX-License-Identifier: GPL-2.0 */
/* The record of a limit that throttled a thread. */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/sched.h"
#include "bpf/thread_ledger.h"

/* The limit of real-time threads, without CONFIG_RT_GROUP_SCHED. */
const volatile u64 real_time_runtime_ns; /* per period */
const volatile u64 real_time_period_ns;

static __always_inline void fill_names(struct sched_throttle* record, struct task_group* group) {
  __builtin_memset(record->names, 0, sizeof(record->names));
  for (int i = 0; i < THROTTLE_NAMES && group; i++) {
    const char* name = BPF_CORE_READ(group, css.cgroup, kn, name);
    bpf_probe_read_kernel_str(record->names[i], THROTTLE_NAME_SIZE, name);
    group = BPF_CORE_READ(group, parent);
  }
}

static __always_inline void fill_quota(struct sched_throttle* record, struct task_group* group) {
  record->limit = THROTTLE_QUOTA;
  record->reserved = 0;
  record->quota_ns = BPF_CORE_READ(group, cfs_bandwidth.quota);
  record->period_ns = BPF_CORE_READ(group, cfs_bandwidth.period);
}

static __always_inline void fill_real_time_limit(struct sched_throttle* record,
                                                 struct task_group* group) {
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

/* `throttler` as in thread_ledger. */
static __always_inline void fill_throttle(struct sched_throttle* record, u64 throttler,
                                          u64 throttled_ns) {
  struct task_group* group = (struct task_group*)(throttler & ~THROTTLER_OF_REAL_TIME);
  record->throttled_ns = throttled_ns;
  if (throttler & THROTTLER_OF_REAL_TIME)
    fill_real_time_limit(record, group);
  else
    fill_quota(record, group);
  record->throttler_id = group ? BPF_CORE_READ(group, css.cgroup, kn, id) : 0;
  fill_names(record, group);
}

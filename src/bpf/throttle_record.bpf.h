/* SPDX-License-Identifier: GPL-2.0 */
/* Whose quota it was, in words. */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/sched.h"

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

/* SPDX-License-Identifier: GPL-2.0 */
/* The cgroup of a thread, and the process that started its process. */
#pragma once

#include "bpf/origin.h"
#include "bpf/session.bpf.h"

const volatile u64 loaded_ns; /* a time before the session */
const volatile int cgroup_hierarchy =
    -1; /* hierarchy id; 0 is cgroup v2; -1: cgroups are not looked at */

#define CONTROLLERS_MAX 16

/* The cgroup of `task` in the hierarchy we watch, or null. */
static __always_inline struct cgroup* watched_cgroup(struct task_struct* task) {
  struct css_set* set = BPF_CORE_READ(task, cgroups);
  if (!set || cgroup_hierarchy < 0) return 0;
  if (cgroup_hierarchy == 0) return BPF_CORE_READ(set, dfl_cgrp);
  u32 size = bpf_core_field_size(set->subsys) / sizeof(void*);
  for (u32 i = 0; i < CONTROLLERS_MAX && i < size; i++) {
    struct cgroup_subsys_state* css = 0;
    bpf_probe_read_kernel(&css, sizeof(css),
                          (void*)set + bpf_core_field_offset(set->subsys) + i * sizeof(void*));
    struct cgroup* cgroup = BPF_CORE_READ(css, cgroup);
    if (cgroup && BPF_CORE_READ(cgroup, root, hierarchy_id) == cgroup_hierarchy) return cgroup;
  }
  return 0;
}

#define HELPER_AGE_NS 1000000000ull
#define HELPERS_MAX 8

/* The process that started that of `task`, which began at `start_ns`. A process that began in the
 * session, and started another one within a second, helps the process that started the helper: a
 * shell between make and a compiler, the child of cron that becomes a shell. So the processes that
 * one process causes have one parent, however many helpers come between them. */
static __always_inline struct task_struct* starter_of(struct task_struct* task, u64 start_ns) {
  struct task_struct* parent = BPF_CORE_READ(task, real_parent, group_leader);
  u64 child_start_ns = start_ns;
  for (u32 i = 0; i < HELPERS_MAX; i++) {
    u64 parent_start_ns = BPF_CORE_READ(parent, start_time);
    if (parent_start_ns < loaded_ns || ns_between(parent_start_ns, child_start_ns) >= HELPER_AGE_NS)
      break;
    child_start_ns = parent_start_ns;
    parent = BPF_CORE_READ(parent, real_parent, group_leader);
  }
  return parent;
}

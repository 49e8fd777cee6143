/* SPDX-License-Identifier: GPL-2.0 */
/* Queues of threads that a CPU quota keeps from running. Since Linux 6.18 the kernel marks each
 * such thread (bpf/throttle.bpf.h). Older kernels take the cgroup's queue on a CPU out of the run
 * queue: its threads stay runnable, but are not scheduled. Two functions are then called, for the
 * cgroup and for each cgroup below it. */
#pragma once

#include "bpf/throttled_queues.bpf.h"

#define GROUP_DEPTH_MAX 8
u8 any_throttled; /* 1: a queue has been throttled; stays 0 on machines without quotas */

static __always_inline struct cfs_rq* queue_of(struct task_group* group, u32 cpu) {
  struct cfs_rq* queue = 0;
  struct cfs_rq** queues = BPF_CORE_READ(group, cfs_rq);
  bpf_probe_read_kernel(&queue, sizeof(queue), queues + cpu);
  return queue;
}

/* The programs below are kprobes: to detach a program of fentry, these kernels wait until each
 * thread that runs in the kernel has left it (RCU tasks). Both functions have the group and the run
 * queue as arguments. */

/* The kernel visits the cgroups from the top down, beginning with the one that has used up its
 * quota. */
SEC("?kprobe/tg_throttle_down")
int COUNTED_PROG(on_throttle) {
  struct task_group* group = (struct task_group*)((struct pt_regs*)ctx)->di;
  void* run_queue = (void*)((struct pt_regs*)ctx)->si;
  u32 cpu = BPF_CORE_READ((struct rq*)run_queue, cpu);
  struct cfs_rq* queue = queue_of(group, cpu);
  if (!queue || BPF_CORE_READ(queue, throttle_count)) return 0; /* throttled already */
  struct throttled_queue* known = throttled_queue_of(queue);
  if (!known) known = make_throttled_queue((u64)queue);
  if (!known) return 0;
  struct task_group* parent = BPF_CORE_READ(group, parent);
  struct throttled_queue* above = parent ? throttled_queue_of(queue_of(parent, cpu)) : 0;
  known->by = above && above->since_ns ? above->by : (u64)group;
  known->since_ns = bpf_ktime_get_ns();
  if (!any_throttled) any_throttled = 1;
  return 0;
}

SEC("?kprobe/tg_unthrottle_up")
int COUNTED_PROG(on_unthrottle) {
  struct task_group* group = (struct task_group*)((struct pt_regs*)ctx)->di;
  void* run_queue = (void*)((struct pt_regs*)ctx)->si;
  struct cfs_rq* queue = queue_of(group, BPF_CORE_READ((struct rq*)run_queue, cpu));
  if (!queue || BPF_CORE_READ(queue, throttle_count) != 1) return 0; /* another quota */
  struct throttled_queue* known = throttled_queue_of(queue);
  if (known) end_throttle(known, bpf_ktime_get_ns());
  return 0;
}

/* The cgroup whose quota keeps the threads of `queue` from running. `above` is the entity of the
 * queue's own group, in the queue of the parent group, and so on upwards. */
static __always_inline struct task_group* throttler_of(struct cfs_rq* queue,
                                                       struct sched_entity* above) {
  for (int depth = 0; depth < GROUP_DEPTH_MAX && queue; depth++) {
    if (BPF_CORE_READ_BITFIELD_PROBED(queue, throttled)) return BPF_CORE_READ(queue, tg);
    queue = above ? BPF_CORE_READ(above, cfs_rq) : 0;
    above = above ? BPF_CORE_READ(above, parent) : 0;
  }
  return 0;
}

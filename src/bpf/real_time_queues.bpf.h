/* SPDX-License-Identifier: GPL-2.0 */
/* Real-time threads that have used up their share of a CPU: sched_rt_runtime_us of each
 * sched_rt_period_us, or less for a cgroup with CONFIG_RT_GROUP_SCHED. The kernel then marks their
 * queue on that CPU as throttled until the period ends. There is no hook for the mark. But the
 * running thread leaves the CPU when the mark is set, and a waiting thread is switched in when the
 * mark is cleared. So programs read the mark at context switches from and to real-time threads, and
 * at their wake-ups. */
#pragma once

#include "bpf/sched.h"
#include "bpf/thread_ledger.h"
#include "bpf/throttled_queues.bpf.h"

const volatile u8 tells_real_time; /* 0: the limit is ignored */

#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h; deadlines are below 0 */
#define REAL_TIME_DEPTH_MAX 4

/* Few machines ever reach the limit, and then for a small part of the time. What follows is needed
 * while a queue is throttled, and for waits that began before the last one was seen to run again. A
 * queue that the table drops stays counted, which costs time and nothing else. */
u32 real_time_marked; /* queues that are throttled at present */
u64 real_time_unmarked_ns;

/* Whether the limit may have kept a thread waiting that left its CPU at `since_ns`. */
static __always_inline bool reached_real_time_limit(u64 since_ns) {
  return real_time_marked || real_time_unmarked_ns > since_ns;
}

/* False also if no limit is possible: Linux 6.12 and newer without CONFIG_RT_GROUP_SCHED. */
static __always_inline bool is_real_time(const struct task_struct* task) {
  return tells_real_time && bpf_core_field_exists(((struct rt_rq*)0)->rt_throttled) &&
         (u32)task->prio < MAX_RT_PRIO;
}

/* By a helper: the verifier takes long for a load of a pointer, and looks at this on every path. */
static __always_inline const struct rt_rq* real_time_queue_of(const struct task_struct* task) {
  if (bpf_core_field_exists(task->rt.rt_rq)) return BPF_CORE_READ(task, rt.rt_rq);
  struct rq* queue = BPF_CORE_READ(task, se.cfs_rq, rq);
  return queue ? (struct rt_rq*)((u64)queue + bpf_core_field_offset(queue->rt)) : 0;
}

static __always_inline bool is_marked(const struct rt_rq* queue) {
  return bpf_core_field_exists(queue->rt_throttled) && BPF_CORE_READ(queue, rt_throttled);
}

static __always_inline void look_at_mark(const struct rt_rq* queue, u64 now_ns) {
  bool marked = is_marked(queue);
  if (!marked && !real_time_marked) return;
  struct throttled_queue* known = throttled_queue_of(queue);
  if (!known && marked) known = make_throttled_queue((u64)queue);
  if (!known) return;
  if (!marked) {
    if (!end_throttle(known, now_ns)) return;
    real_time_unmarked_ns = now_ns;
    __sync_fetch_and_sub(&real_time_marked, 1);
  } else if (!known->since_ns) {
    u64 group = 0;
    if (bpf_core_field_exists(queue->tg)) group = (u64)BPF_CORE_READ(queue, tg);
    known->by = group | THROTTLER_OF_REAL_TIME;
    if (!__sync_val_compare_and_swap(&known->since_ns, 0, now_ns))
      __sync_fetch_and_add(&real_time_marked, 1);
  }
}

/* Reads the marks of the queue of the thread at `*address`, and of the queues above it. Returns
 * that queue, a struct rt_rq*. Not static: see throttled_since_mark(). */
__noinline u64 look_at_marks(const u64* address, u64 now_ns) {
  if (!address) return 0;
  const struct task_struct* task = (const struct task_struct*)*address;
  const struct rt_rq* queue = real_time_queue_of(task);
  look_at_mark(queue, now_ns);
  if (!bpf_core_field_exists(task->rt.parent)) return (u64)queue;
  struct sched_rt_entity* above = BPF_CORE_READ(task, rt.parent);
  for (int depth = 1; depth < REAL_TIME_DEPTH_MAX && above; depth++) {
    look_at_mark(BPF_CORE_READ(above, rt_rq), now_ns);
    above = BPF_CORE_READ(above, parent);
  }
  return (u64)queue;
}

/* Notes which queues of the thread are throttled. To be called for a thread that leaves its CPU;
 * only while a queue is throttled, also for one that comes or is woken: a mark is set while a
 * thread of its queue has the CPU. Returns the thread's own queue; 0: not real-time. */
static __always_inline u64 note_real_time(struct task_struct* task, u64 now_ns) {
  if (!is_real_time(task)) return 0;
  u64 address = (u64)task;
  return look_at_marks(&address, now_ns);
}

/* A wait of a real-time thread for its CPU. */
struct real_time_wait {
  u64 queue; /* struct rt_rq* in which the thread was */
  u64 from_ns;
  u64 to_ns;
  u64 throttled_ns; /* time throttled; set by throttled_with_queues() */
  u64 throttler;    /* owner of the limit, as in thread_ledger; likewise */
};

static __always_inline void throttled_with(const struct rt_rq* queue, struct real_time_wait* wait) {
  struct throttled_queue* known = throttled_queue_of(queue);
  if (!known) return;
  u64 throttled_ns = throttled_between(known, wait->from_ns, wait->to_ns);
  if (throttled_ns <= wait->throttled_ns) return;
  wait->throttled_ns = throttled_ns;
  wait->throttler = known->by;
}

/* Sets the longest time for which the queue of the thread at `*address`, or a queue above it, was
 * throttled during `wait`. Not static: see throttled_since_mark(). */
__noinline int throttled_with_queues(const u64* address, struct real_time_wait* wait) {
  if (!address || !wait) return 0;
  const struct task_struct* task = (const struct task_struct*)*address;
  throttled_with((const struct rt_rq*)wait->queue, wait);
  if (!bpf_core_field_exists(task->rt.parent)) return 0;
  struct sched_rt_entity* above = BPF_CORE_READ(task, rt.parent);
  for (int depth = 1; depth < REAL_TIME_DEPTH_MAX && above; depth++) {
    throttled_with(BPF_CORE_READ(above, rt_rq), wait);
    above = BPF_CORE_READ(above, parent);
  }
  return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Tracks every wake-up of the target's threads, if there is a target: the question is then why a
 * thread waits behind a higher-priority one, and several threads may wait at once. Included by
 * worst.bpf.c after its code for the single wake-up that is tracked without a target. */
#pragma once

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, u64); /* struct task_struct* */
  __type(value, struct worst_wake);
} wakes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct worst_wake);
} new_wake SEC(".maps");

static __always_inline void forget_wake(u64 key) {
  if (!bpf_map_delete_elem(&wakes, &key)) __sync_fetch_and_sub(&tracked.pending, 1);
}

/* Abandons a wake-up whose thread ran unreported. */
static __noinline int abandon_wake(u64 key) {
  forget_wake(key);
  lose(WORST_LOST_UNSEEN);
  return 0;
}

/* Whether the tracer covers threads with the priority of `task`. */
static __always_inline bool is_of_tracer(struct task_struct* task) {
  if (tracer == WORST_WAKEUP_DL) return task->prio < 0;
  return tracer != WORST_WAKEUP_RT || task->prio < MAX_RT_PRIO;
}

/* The thread is woken, or made runnable for the first time. */
static __noinline int begin_wake(void* ctx, struct task_struct* task, u64 now_ns) {
  u32 zero = 0;
  u64 key = (u64)task;
  if (!ctx || !task || !is_of_tracer(task) || !on_wanted_cpu(task) || !member_state(task)) return 0;
  if (tracked.pending && bpf_map_lookup_elem(&wakes, &key)) {
    if (task->on_rq) return 0; /* woken again before it ran */
    abandon_wake(key);
  }
  struct worst_wake* wake = bpf_map_lookup_elem(&new_wake, &zero);
  if (!wake) return 0;
  struct task_struct* current = bpf_get_current_task_btf();
  wake->begin_ns = now_ns;
  wake->queued_ns = 0;
  wake->waker_cpu = wake->queued_cpu = bpf_get_smp_processor_id();
  wake->waker_pid = current->tgid;
  wake->waker_tid = current->pid;
  __builtin_memcpy(wake->waker_comm, current->comm, COMM_SIZE);
  long bytes = bpf_get_stack(ctx, wake->stack, sizeof(wake->stack), 0);
  wake->frames = bytes > 0 ? bytes / 8 : 0;
  if (bpf_map_update_elem(&wakes, &key, wake, BPF_NOEXIST)) {
    count(COUNTER_SPANS_FULL, 1);
    return 0;
  }
  __sync_fetch_and_add(&tracked.pending, 1);
  return 1;
}

static __noinline int wake_is_queued(struct task_struct* task, u32 cpu, u64 now_ns) {
  u64 key = (u64)task;
  struct worst_wake* wake = bpf_map_lookup_elem(&wakes, &key);
  if (!wake || wake->queued_ns) return 0;
  wake->queued_ns = now_ns;
  wake->queued_cpu = cpu;
  return 0;
}

/* The thread leaves a CPU. If it was in a run queue since its wake-up, it has run. */
static __noinline int abandon_if_unseen(struct task_struct* task) {
  u64 key = (u64)task;
  struct worst_wake* wake = bpf_map_lookup_elem(&wakes, &key);
  if (wake && wake->queued_ns) abandon_wake(key);
  return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* A wait that has ended, in its thread's ledger and as a record. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"
#include "bpf/target.bpf.h"

/* The wait that ends at `in_ns`, by what it was. A wake-up may come while the thread is still on
 * its way out: it then slept for no time. One from before it last ran is another wait's. */
static __always_inline void add_wait(struct thread_ledger* ledger, u64 in_ns) {
  u64 since_ns = ledger->since_ns, wake_ns = ledger->wake_ns;
  u64 all_ns = in_ns > since_ns ? in_ns - since_ns : 0;
  if (ledger->state == LEDGER_PREEMPTED) {
    ledger->sums.preempted_ns += all_ns;
    return;
  }
  if (wake_ns <= ledger->ran_since_ns || wake_ns > in_ns) wake_ns = in_ns;
  if (wake_ns < since_ns) wake_ns = since_ns;
  u64 runqueue_ns = in_ns > wake_ns ? in_ns - wake_ns : 0;
  if (ledger->state == LEDGER_UNINTERRUPTIBLE)
    ledger->sums.uninterruptible_ns += all_ns - runqueue_ns;
  else
    ledger->sums.sleeping_ns += all_ns - runqueue_ns;
  ledger->sums.runqueue_ns += runqueue_ns;
}

/* The waker's process and name: it is looked at only now, since few wake-ups matter. */
static __always_inline void fill_waker(struct sched_wait* wait,
                                       const struct thread_ledger* ledger) {
  struct task_struct* waker = (struct task_struct*)ledger->waker;
  wait->waker_pid = wait->reserved = 0;
  __builtin_memset(wait->waker, 0, COMM_SIZE);
  if (!wait->waker_tid || (u32)BPF_CORE_READ(waker, pid) != wait->waker_tid) return;
  wait->waker_pid = BPF_CORE_READ(waker, tgid);
  BPF_CORE_READ_STR_INTO(&wait->waker, waker, comm);
}

/* All but who ran before, and the stack. */
static __always_inline void fill_wait(struct sched_wait* wait, struct task_struct* task,
                                      const struct thread_ledger* ledger, u64 in_ns) {
  struct thread_state* state = bpf_task_storage_get(&threads, task, 0, 0);
  fill_who(&wait->header, task, state ? state->cgroup_id : 0, in_ns);
  wait->header.kind = RECORD_SCHED_WAIT;
  wait->header.size = sizeof(*wait);
  wait->flags = state ? WAIT_OF_MEMBER : 0;
  wait->out_ns = ledger->since_ns;
  wait->state = ledger->state;
  bool preempted = ledger->state == LEDGER_PREEMPTED;
  bool woken = ledger->wake_ns > ledger->ran_since_ns && !preempted;
  wait->wake_ns = woken ? ledger->wake_ns : 0;
  wait->waker_tid = woken ? ledger->waker_tid : 0;
  wait->waker_context = woken ? ledger->waker_context : WAKER_UNKNOWN;
  wait->waker_number = woken ? ledger->waker_number : 0;
  fill_waker(wait, ledger);
  wait->displacer_tid = preempted ? ledger->displacer_tid : 0;
  __builtin_memset(wait->displacer, 0, COMM_SIZE);
  if (preempted) __builtin_memcpy(wait->displacer, ledger->displacer, COMM_SIZE);
  wait->behind_tid = 0;
  __builtin_memset(wait->behind, 0, COMM_SIZE);
  wait->kernel_frames = 0;
}

static __always_inline void record_unseen_wait(struct task_struct* task,
                                               struct thread_ledger* ledger, u64 in_ns) {
  u64 min_ns = control.wait_min_ns;
  if (!min_ns || !control.armed || in_ns - ledger->since_ns < min_ns) return;
  void* ring = this_cpu_ring();
  struct sched_wait* wait = ring ? bpf_ringbuf_reserve(ring, sizeof(*wait), 0) : 0;
  if (!wait) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_wait(wait, task, ledger, in_ns);
  bpf_ringbuf_submit(wait, BPF_RB_NO_WAKEUP);
}

/* The scheduler reads its clock a moment before we do, and not always equally long before. */
#define ARRIVAL_IMPRECISION_NS 1000000

/* Of the running thread, if nobody told us that it was switched in: a hardened kernel may keep the
 * switches of some threads to itself. The scheduler's own note says when it was, in a clock of its
 * own. Where it waited is not to be seen any more. */
static __noinline int note_unseen_switch_in(struct task_struct* task, struct thread_ledger* ledger,
                                            struct cpu_ledger* cpu, u64 now_ns) {
  if (!task || !ledger || !cpu || !cpu->arrival_offset_ns) return 0;
  if (!bpf_core_field_exists(task->sched_info)) return 0;
  u64 in_ns = task->sched_info.last_arrival + cpu->arrival_offset_ns;
  if (in_ns > now_ns && in_ns - now_ns < ARRIVAL_IMPRECISION_NS) in_ns = now_ns;
  if (in_ns <= ledger->since_ns || in_ns > now_ns) return 0;
  record_unseen_wait(task, ledger, in_ns);
  add_wait(ledger, in_ns);
  ledger->state = LEDGER_ON_CPU;
  ledger->since_ns = ledger->ran_since_ns = in_ns;
  ledger->irq_mark_ns = cpu->irq_ns;
  ledger->softirq_mark_ns = cpu->softirq_ns;
  return 0;
}

/* What the scheduler's note and our clock are apart on this CPU: when `task` leaves that was seen
 * to come. */
static __always_inline void note_arrival(struct task_struct* task,
                                         const struct thread_ledger* ledger,
                                         struct cpu_ledger* cpu) {
  if (bpf_core_field_exists(task->sched_info) && ledger->ran_since_ns)
    cpu->arrival_offset_ns = ledger->ran_since_ns - task->sched_info.last_arrival;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* The end of a wait, in the ledger of its thread and as a record. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"
#include "bpf/target.bpf.h"
#include "bpf/throttle.bpf.h"
#include "bpf/throttle_record.bpf.h"
#include "bpf/totals.bpf.h"

/* When the thread that is switched in at `in_ns` became runnable. A wake-up may come while the
 * thread is still switching out: the thread then slept for no time. A wake-up before its last run
 * belongs to an earlier wait. */
static __always_inline u64 runnable_since(const struct thread_ledger* ledger, u64 in_ns) {
  u64 since_ns = ledger->since_ns, wake_ns = ledger->wake_ns;
  if (since_ns > in_ns) since_ns = in_ns;
  if (ledger->state == LEDGER_PREEMPTED) return since_ns;
  if (wake_ns <= ledger->ran_since_ns || wake_ns > in_ns) return in_ns;
  return wake_ns < since_ns ? since_ns : wake_ns;
}

/* The thread was runnable, no thread preempted it, and no limit throttled it. */
static __always_inline bool is_kept_unknown(const struct thread_ledger* ledger) {
  return ledger->state == LEDGER_PREEMPTED && ledger->is_left_idle && !ledger->throttled_ns;
}

/* Adds the wait that ends at `in_ns` to the parts. `throttled_ns` is the throttled part of the time
 * in which the thread was runnable; the rest of that time is a wait for the CPU. Not static: see
 * throttled_since_mark(). */
__noinline int add_wait(struct thread_ledger* ledger, u64 throttled_ns, u64 in_ns) {
  if (!ledger) return 0;
  struct ledger_parts* parts = &ledger->sums.parts;
  u64 runnable_ns = runnable_since(ledger, in_ns);
  u64 ready_ns = in_ns - runnable_ns;
  ledger->throttled_ns = throttled_ns < ready_ns ? throttled_ns : ready_ns;
  ready_ns -= ledger->throttled_ns;
  u64 blocked_ns = ns_between(ledger->since_ns, runnable_ns);
  if (ledger->totals.member) {
    struct wait_parts wait = {
        .blocked_ns = blocked_ns, .throttled_ns = ledger->throttled_ns, .ready_ns = ready_ns};
    count_wait(ledger, &wait, in_ns);
  }
  ledger->sums.throttled_ns += ledger->throttled_ns;
  if (ledger->state == LEDGER_PREEMPTED && !ledger->throttled_ns) {
    if (!ledger->is_left_idle) parts->preempted_ns += ready_ns;
    return 0;
  }
  if (ledger->state == LEDGER_UNINTERRUPTIBLE)
    parts->uninterruptible_ns += blocked_ns;
  else
    parts->sleeping_ns += blocked_ns;
  parts->runqueue_ns += ready_ns;
  return 0;
}

/* The waker's process and name, read only here, since few wake-ups matter. */
static __always_inline void fill_waker(struct sched_wait* wait,
                                       const struct thread_ledger* ledger) {
  struct task_struct* waker = (struct task_struct*)ledger->waker;
  wait->waker_pid = 0;
  __builtin_memset(wait->waker, 0, COMM_SIZE);
  if (!wait->waker_tid || (u32)BPF_CORE_READ(waker, pid) != wait->waker_tid) return;
  wait->waker_pid = BPF_CORE_READ(waker, tgid);
  BPF_CORE_READ_STR_INTO(&wait->waker, waker, comm);
}

static __always_inline u32 wait_state_of(const struct thread_ledger* ledger) {
  if (is_kept_unknown(ledger)) return WAIT_UNKNOWN;
  return ledger->state == LEDGER_PREEMPTED && ledger->throttled_ns ? WAIT_THROTTLED : ledger->state;
}

/* Sets all fields except the thread that ran before; there is no stack. */
static __always_inline void fill_wait(struct sched_wait* wait, struct task_struct* task,
                                      const struct thread_ledger* ledger, u64 in_ns) {
  struct thread_state* state = find_of_thread(threads, task);
  fill_who(&wait->header, task, state ? state->cgroup_id : 0, in_ns);
  wait->header.kind = RECORD_SCHED_WAIT;
  wait->header.size = sizeof(*wait);
  wait->flags = state ? WAIT_OF_MEMBER : 0;
  if (!control.armed) wait->flags |= WAIT_UNARMED;
  wait->out_ns = ledger->since_ns;
  wait->state = wait_state_of(ledger);
  wait->throttled_ns = ledger->throttled_ns;
  bool preempted = ledger->state == LEDGER_PREEMPTED;
  bool woken = ledger->wake_ns > ledger->ran_since_ns && !preempted;
  wait->wake_ns = woken ? ledger->wake_ns : 0;
  wait->waker_tid = woken ? ledger->waker_tid : 0;
  wait->waker_context = woken ? ledger->waker_context : WAKER_UNKNOWN;
  wait->waker_number = woken ? ledger->waker_number : 0;
  fill_waker(wait, ledger);
  bool displaced = wait->state == WAIT_PREEMPTED || wait->state == WAIT_OTHER;
  wait->displacer_tid = displaced ? ledger->displacer_tid : 0;
  __builtin_memset(wait->displacer, 0, COMM_SIZE);
  if (displaced) __builtin_memcpy(wait->displacer, ledger->displacer, COMM_SIZE);
  wait->behind_tid = 0;
  wait->behind_ns = 0;
  wait->sums = ledger->sums.parts;
  wait->throttled_sum_ns = ledger->sums.throttled_ns;
  wait->place = wait->call_ns = 0;
  wait->call = 0;
  __builtin_memset(wait->behind, 0, COMM_SIZE);
  wait->kernel_frames = 0;
}

/* The header of a record that precedes the sched_wait of a thread; `address` is the address of its
 * struct task_struct. */
static __always_inline void fill_front(struct event_header* header, u64 address, u16 kind, u16 size,
                                       u64 now_ns) {
  struct task_struct* task = (struct task_struct*)address;
  header->time_ns = now_ns;
  header->cgroup_id = 0; /* the sched_wait has it */
  header->pid = BPF_CORE_READ(task, tgid);
  header->tid = BPF_CORE_READ(task, pid);
  header->kind = kind;
  header->size = size;
  header->cpu = bpf_get_smp_processor_id();
  __builtin_memset(header->comm, 0, COMM_SIZE);
  BPF_CORE_READ_STR_INTO(&header->comm, task, comm);
}

/* Records the limit that throttled the thread whose struct task_struct is at `*address`, in
 * the wait that ends at `in_ns`. Not static: see throttled_since_mark(). */
__noinline int record_throttle(const u64* address, struct thread_ledger* ledger, u64 in_ns) {
  if (!address || !ledger || !ledger->throttled_ns || !ledger->throttler) return 0;
  void* ring = this_cpu_ring();
  struct sched_throttle* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_front(&record->header, *address, RECORD_SCHED_THROTTLE, sizeof(*record), in_ns);
  fill_throttle(record, ledger->throttler, ledger->throttled_ns);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

/* Whether waits are recorded. A call that began before a pause, or before the end of the session,
 * is reported when it ends: its waits are recorded until then. */
static __always_inline bool records_waits(const struct thread_ledger* ledger) {
  return control.armed || ledger->call.who;
}

static __always_inline void record_unseen_wait(struct task_struct* task,
                                               struct thread_ledger* ledger, u64 in_ns) {
  u64 min_ns = control.wait_min_ns;
  if (!min_ns || !records_waits(ledger) || in_ns < ledger->since_ns + min_ns) return;
  u64 address = (u64)task;
  record_throttle(&address, ledger, in_ns);
  void* ring = this_cpu_ring();
  struct sched_wait* wait = ring ? bpf_ringbuf_reserve(ring, sizeof(*wait), 0) : 0;
  if (!wait) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_wait(wait, task, ledger, in_ns);
  bpf_ringbuf_submit(wait, BPF_RB_NO_WAKEUP);
}

/* The scheduler reads its clock shortly before our hook does; the distance varies. */
#define ARRIVAL_IMPRECISION_NS 1000000

/* The switch in of the running thread, from struct sched_info; or 0. As imprecise as the estimated
 * offset between the two clocks: some microseconds. */
static __always_inline u64 arrival_of(const struct task_struct* task,
                                      const struct cpu_ledger* cpu) {
  if (!bpf_core_field_exists(task->sched_info) || !cpu->arrival_offset_ns) return 0;
  return task->sched_info.last_arrival + cpu->arrival_offset_ns;
}

/* Ends the wait of a thread whose switch in, at `in_ns`, was not seen. If `in_ns` is before the
 * switch out, the estimated clock offset is wrong. Returns the switch in, corrected. */
static __always_inline u64 end_unseen_wait(struct thread_ledger* ledger, u64 in_ns) {
  if (in_ns < ledger->since_ns) in_ns = ledger->since_ns;
  if (ledger->wake_ns == WAKE_UNTIMED) ledger->wake_ns = in_ns;
  add_wait(ledger, throttled_since_left(ledger), in_ns);
  return in_ns;
}

static __always_inline void run_since(struct thread_ledger* ledger, u64 in_ns) {
  ledger->state = LEDGER_ON_CPU;
  ledger->since_ns = ledger->ran_since_ns = in_ns;
}

/* Called for a running thread whose switch in was not seen: a hardened kernel may hide the switches
 * of some threads. struct sched_info has the time of the switch, by the scheduler's clock. The
 * stack of the wait is lost. Not static: see throttled_since_mark(). */
__noinline int note_unseen_switch_in(struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                     u64 now_ns) {
  if (!ledger || !cpu) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  u64 in_ns = arrival_of(task, cpu);
  u64 latest_ns = now_ns;
  const struct open_call* call = &cpu->call;
  if (call->who == (u64)task && call->begin_ns > ledger->since_ns) latest_ns = call->begin_ns;
  if (in_ns > latest_ns && in_ns - latest_ns < ARRIVAL_IMPRECISION_NS) in_ns = latest_ns;
  if (!in_ns || in_ns > now_ns) return 0;
  /* The reason is still that of the wait before. */
  ledger->reason = ledger->state == LEDGER_OTHER ? REASON_STOPPED : REASON_OTHER;
  in_ns = end_unseen_wait(ledger, in_ns);
  record_unseen_wait(task, ledger, in_ns);
  run_since(ledger, in_ns);
  ledger->irq_mark_ns = cpu->irq_ns;
  ledger->softirq_mark_ns = cpu->softirq_ns;
  return 0;
}

/* When the thread, not running, was enqueued in a run queue, from struct sched_info; or 0. */
static __always_inline u64 queued_since(const struct task_struct* task,
                                        const struct cpu_ledger* cpu) {
  if (!bpf_core_field_exists(task->sched_info) || !cpu->arrival_offset_ns) return 0;
  u64 queued = task->sched_info.last_queued;
  return queued ? queued + cpu->arrival_offset_ns : 0;
}

/* A task woken while it switches out is enqueued as soon as the switch completes. */
#define WAY_OUT_NS 100000

/* Sets the time of the wake-up of a thread that is about to run. Called if the wake-up was not
 * timed, was not seen since the switch out, or was seen only while the thread still ran: such a
 * wake-up may belong to an earlier wait, from which the thread turned back. (A hardened kernel may
 * hide wake-ups. The waker is then unknown.) */
static __always_inline void time_wake(struct task_struct* task, struct thread_ledger* ledger,
                                      const struct cpu_ledger* cpu, u64 now_ns) {
  u64 from_ns = ledger->since_ns;
  u64 wake_ns = queued_since(task, cpu);
  if (ledger->wake_ns == WAKE_UNTIMED) { /* it came for certain, whatever the clocks say */
    if (!wake_ns || wake_ns > now_ns) wake_ns = now_ns;
    ledger->wake_ns = wake_ns < from_ns ? from_ns : wake_ns;
    return;
  }
  if (ledger->wake_ns > ledger->ran_since_ns) from_ns += WAY_OUT_NS;
  if (wake_ns < from_ns || wake_ns > now_ns) return;
  ledger->wake_ns = wake_ns;
  ledger->waker_tid = 0;
  ledger->waker_context = WAKER_UNKNOWN;
  ledger->waker_number = 0;
}

/* Estimates the offset between the scheduler's clock and ours on this CPU, when `task` leaves the
 * CPU and its switch in was seen. The scheduler's clock is read first, and an interrupt or a
 * hypervisor may take the CPU in between: so only a part of a large increase is adopted. */
static __always_inline void note_arrival(struct task_struct* task,
                                         const struct thread_ledger* ledger,
                                         struct cpu_ledger* cpu) {
  if (!bpf_core_field_exists(task->sched_info) || !ledger->ran_since_ns) return;
  u64 offset_ns = ledger->ran_since_ns - task->sched_info.last_arrival;
  s64 more_ns = offset_ns - cpu->arrival_offset_ns;
  if (more_ns > 20000 && cpu->arrival_offset_ns) offset_ns = cpu->arrival_offset_ns + more_ns / 4;
  cpu->arrival_offset_ns = offset_ns;
}

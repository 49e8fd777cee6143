/* SPDX-License-Identifier: GPL-2.0 */
/* What a thread does at present: its wait has not ended, and so has no record yet. */
#pragma once

#include "bpf/throttle_record.bpf.h"
#include "bpf/throttled_waits.bpf.h"

static __always_inline u64 surplus(u64 later, u64 earlier) {
  return later > earlier ? later - earlier : 0;
}

/* Notes that the thread runs, if its switch in was not reported. A thread that is just leaving the
 * CPU came earlier. */
static __always_inline void look_for_arrival(struct task_struct* task, struct thread_ledger* ledger,
                                             u64 now_ns) {
  if (!task->on_cpu || ledger->state == LEDGER_ON_CPU) return;
  const struct cpu_ledger* cpu = ledger_of_cpu(task->thread_info.cpu);
  u64 in_ns = cpu ? arrival_of(task, cpu) : 0;
  if (in_ns > ledger->since_ns && in_ns <= now_ns)
    run_since(ledger, end_unseen_wait(ledger, in_ns));
}

/* Notes when the thread entered the run queue, if no wake-up gives that time. */
static __always_inline void look_for_wake(struct task_struct* task, struct thread_ledger* ledger) {
  const struct cpu_ledger* cpu = this_cpu_ledger();
  bool untimed = ledger->wake_ns == WAKE_UNTIMED;
  if (ledger->wake_ns >= ledger->since_ns && !untimed) return;
  u64 wake_ns = cpu ? queued_since(task, cpu) : 0;
  if (untimed && wake_ns && wake_ns < ledger->since_ns) wake_ns = ledger->since_ns;
  ledger->wake_ns = wake_ns;
}

/* A thread as the functions below get it. No padding, which older verifiers take for uninitialised
 * memory. */
struct present_thread {
  u64 address; /* of its struct task_struct */
  u64 is_real_time;
};

/* How long a limit has kept the thread from running that is runnable at present. */
static __always_inline u64 throttled_at_present(const struct present_thread* thread,
                                                struct thread_ledger* ledger, u64 now_ns) {
  struct task_struct* task = (struct task_struct*)thread->address;
  if (thread->is_real_time) return real_time_throttled(task, ledger, now_ns);
  if (bpf_core_field_exists(task->throttled)) return throttled_since_left(ledger);
  return heard_throttled(task, ledger, now_ns);
}

/* Adds the time for which the thread has been runnable, and names the reason why it does not run.
 * As add_wait() does, takes the rest of a throttled time for a wait for the CPU. */
static __always_inline void note_runnable(struct span_record* span,
                                          const struct present_thread* thread,
                                          struct thread_ledger* ledger, u64 runnable_ns,
                                          u64 now_ns) {
  bool preempted = ledger->state == LEDGER_PREEMPTED;
  u64 throttled_ns = throttled_at_present(thread, ledger, now_ns);
  if (throttled_ns > runnable_ns) throttled_ns = runnable_ns;
  ledger->throttled_ns = throttled_ns;
  span->detail = runnable_ns;
  span->throttled_ns += throttled_ns;
  if (preempted && ledger->is_left_idle && !throttled_ns) {
    __builtin_memcpy(span->text, "unknown", 8);
  } else if (preempted && !throttled_ns) {
    span->ledger.preempted_ns += runnable_ns;
    __builtin_memcpy(span->text, "preempted", 10);
  } else {
    span->ledger.runqueue_ns += runnable_ns - throttled_ns;
    if (throttled_ns)
      __builtin_memcpy(span->text, "throttled", 10);
    else
      __builtin_memcpy(span->text, "runqueue", 9);
  }
}

/* Adds what the thread does at present, and since when. Not static: see throttled_since_mark(). */
__noinline int note_present(struct span_record* span, const struct present_thread* thread,
                            struct thread_ledger* ledger, u64 now_ns) {
  if (!span || !thread || !ledger) return 0;
  u64 since_ns = ledger->since_ns;
  u64 wake_ns = ledger->wake_ns;
  u64 lasts_ns = surplus(now_ns, since_ns);
  bool woken = wake_ns > ledger->ran_since_ns && wake_ns >= since_ns && wake_ns <= now_ns;
  u32 state = ledger->state;
  if (state == LEDGER_ON_CPU) {
    span->ledger.oncpu_ns += lasts_ns;
    __builtin_memcpy(span->text, "running", 8);
    return 0;
  }
  bool preempted = state == LEDGER_PREEMPTED;
  if (preempted || woken)
    note_runnable(span, thread, ledger, preempted ? lasts_ns : now_ns - wake_ns, now_ns);
  if (preempted) return 0;
  if (woken)
    lasts_ns = wake_ns - since_ns;
  else
    span->detail = lasts_ns;
  if (state == LEDGER_UNINTERRUPTIBLE)
    span->ledger.uninterruptible_ns += lasts_ns;
  else
    span->ledger.sleeping_ns += lasts_ns;
  if (woken) return 0;
  if (state == LEDGER_UNINTERRUPTIBLE)
    __builtin_memcpy(span->text, "uninterruptible", 16);
  else if (state == LEDGER_SLEEPING)
    __builtin_memcpy(span->text, "sleeping", 9);
  else
    __builtin_memcpy(span->text, "other", 6);
  return 0;
}

/* Describes the limit that throttles the thread at present. Not static, as above. */
__noinline int fill_limit(struct sched_throttle* record, const struct event_header* of_span,
                          const struct thread_ledger* ledger) {
  if (!record || !of_span || !ledger) return 0;
  record->header = *of_span;
  record->header.kind = RECORD_SCHED_THROTTLE;
  record->header.size = 0;
  if (!ledger->throttled_ns || !ledger->throttler) return 0;
  record->header.size = sizeof(*record);
  fill_throttle(record, ledger->throttler, ledger->throttled_ns);
  return 0;
}

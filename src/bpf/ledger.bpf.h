/* SPDX-License-Identifier: GPL-2.0 */
/* What every thread has spent its time on so far: running sums, kept by probes/sched, asked by
 * every probe that has a span of a thread to explain. A span takes the sums at its begin from those
 * at its end. */
#pragma once

#include "bpf/cpu_ledger.h"
#include "bpf/session.bpf.h"
#include "bpf/span.h"
#include "bpf/thread_storage.bpf.h"

enum ledger_state {
  LEDGER_ON_CPU = 0,
  LEDGER_PREEMPTED = 1, /* these four as enum wait_state has them */
  LEDGER_SLEEPING = 2,
  LEDGER_UNINTERRUPTIBLE = 3,
  LEDGER_OTHER = 4,
};

#define WAKE_UNTIMED (~0ull) /* where the scheduler's note will do */

/* Written under the run queue's lock of the CPU that switches the thread, or by the thread itself;
 * but wake_ns and waker_*, by who wakes it: only one can, while it sleeps. */
struct thread_ledger {
  struct ledger_parts sums; /* up to since_ns */
  u64 since_ns;             /* when its present state began */
  u64 ran_since_ns;         /* when it was last switched in */
  u64 wake_ns;              /* of the last wake-up; or WAKE_UNTIMED */
  u64 irq_mark_ns;          /* sums of its CPU when it was switched in */
  u64 softirq_mark_ns;
  u64 call_ns; /* when the last system call began in which it left the CPU, or that was late, where
                  those are looked at; may have ended */
  struct open_call call; /* in which it left the CPU, while it is away */
  u64 member;            /* see call.bpf.h */
  u64 noted_call_ns;     /* the call for which waits were noted beyond the long ones */
  u64 hang_call_ns;      /* the call in flight that was told of as a hang */
  u32 noted;             /* how many waits, of noted_call_ns */
  u32 state;             /* enum ledger_state */
  u32 waker_tid;         /* 0: the idle thread, interrupted */
  u32 displacer_tid;     /* who took the CPU from it */
  u16 waker_context;     /* enum waker_context */
  u16 waker_number;      /* of the interrupt */
  u32 is_asked;          /* the kernel was asked to let it pay what it owes: see probes/sched */
  u32 cpu;               /* where it was last seen to come, or to begin a call */
  u32 reserved;
  u64 owes_ns; /* its user stack, for waits that ended from then on; 0: it owes none */
  u64 owed_ip; /* its user registers when it began to owe that */
  u64 owed_sp;
  u64 waker; /* struct task_struct*; may be gone, or another's by now: then its tid is not waker_tid
              */
  char displacer[COMM_SIZE];
  struct ledger_parts at_call; /* the sums when that call began */
};

THREAD_STORAGE(ledgers, HASH, struct thread_ledger);

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_ledger);
} cpu_ledgers SEC(".maps");

static __always_inline struct cpu_ledger* this_cpu_ledger(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&cpu_ledgers, &zero);
}

/* Adds the time on the CPU since the thread was switched in, to `now_ns`, when interrupts had taken
 * `irq_ns` and `softirq_ns` of the CPU: what they took in between is theirs. */
static __always_inline void add_time_until(struct ledger_parts* sums,
                                           const struct thread_ledger* ledger, u64 irq_ns,
                                           u64 softirq_ns, u64 now_ns) {
  if (ledger->state != LEDGER_ON_CPU) return; /* we came when it ran: unknown */
  u64 gross_ns = now_ns - ledger->since_ns;
  irq_ns -= ledger->irq_mark_ns;
  softirq_ns -= ledger->softirq_mark_ns;
  if (irq_ns + softirq_ns > gross_ns) irq_ns = softirq_ns = 0; /* one came while we looked */
  sums->oncpu_ns += gross_ns - irq_ns - softirq_ns;
  sums->irq_ns += irq_ns;
  sums->softirq_ns += softirq_ns;
}

/* To the present. Called on the thread's CPU, not in an interrupt. */
static __always_inline void add_time_on_cpu(struct ledger_parts* sums,
                                            const struct thread_ledger* ledger,
                                            const struct cpu_ledger* cpu, u64 now_ns) {
  add_time_until(sums, ledger, cpu->irq_ns, cpu->softirq_ns, now_ns);
}

/* Tells the ledger of a thread of the call on `cpu`, which is its, if it does not know of it. */
static __always_inline void note_call(struct thread_ledger* ledger, const struct cpu_ledger* cpu) {
  u64 call_ns = cpu->call.begin_ns;
  if (call_ns <= ledger->call_ns) return;
  ledger->call_ns = call_ns;
  ledger->at_call = ledger->sums;
  if (call_ns < ledger->since_ns) return;
  u64 irq_ns = cpu->call_irq_ns, softirq_ns = cpu->call_softirq_ns;
  /* Marked after the call began, where the switch to the thread was not seen. */
  if (irq_ns < ledger->irq_mark_ns) irq_ns = ledger->irq_mark_ns;
  if (softirq_ns < ledger->softirq_mark_ns) softirq_ns = ledger->softirq_mark_ns;
  add_time_until(&ledger->at_call, ledger, irq_ns, softirq_ns, call_ns);
}

/* The sums of the running thread, at `now_ns`. They add up to all time since the ledger began, but
 * for what nobody saw. */
static __always_inline void read_ledger(const struct thread_ledger* ledger,
                                        const struct cpu_ledger* cpu, u64 now_ns,
                                        struct ledger_parts* sums) {
  *sums = ledger->sums;
  add_time_on_cpu(sums, ledger, cpu, now_ns);
}

/* What a span's parts are: `sums` at its end become those between `begin` and its end. */
static __always_inline void subtract_parts(struct ledger_parts* sums,
                                           const struct ledger_parts* begin) {
  sums->oncpu_ns -= begin->oncpu_ns;
  sums->runqueue_ns -= begin->runqueue_ns;
  sums->preempted_ns -= begin->preempted_ns;
  sums->sleeping_ns -= begin->sleeping_ns;
  sums->uninterruptible_ns -= begin->uninterruptible_ns;
  sums->irq_ns -= begin->irq_ns;
  sums->softirq_ns -= begin->softirq_ns;
}

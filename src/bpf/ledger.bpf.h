/* SPDX-License-Identifier: GPL-2.0 */
/* Where every thread has spent its time so far: running sums, kept by probes/sched and read by each
 * probe that explains a span of a thread. The parts of a span are the sums at its end less the sums
 * at its begin. */
#pragma once

#include "bpf/session.bpf.h"
#include "bpf/thread_ledger.h"
#include "bpf/thread_storage.bpf.h"

/* The address of a thread's task_struct selects the slot of its ledger. A look-up takes two loads;
 * task storage would take a call into the kernel for each thread of a context switch. The task
 * storage of threads outside the target stays empty, and other hooks test nothing else. If the slot
 * was taken when the thread began, the ledger is kept in the `ledgers` map. */
#define LEDGER_SLOTS_LOG2 13

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE); /* for the values' alignment */
  __uint(max_entries, 1 << LEDGER_SLOTS_LOG2);
  __type(key, u32);
  __type(value, struct ledger_slot);
} ledger_slots SEC(".maps");

THREAD_STORAGE(ledgers, HASH, struct thread_ledger);

/* By Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). The verifier refuses to
 * multiply an address, but not the difference of two addresses. */
static __always_inline struct ledger_slot* slot_of(const struct task_struct* task) {
  u64 apart = (u64)task - (u64)&control;
  barrier_var(apart);
  u32 slot = apart * 0x9e3779b97f4a7c15ull >> (64 - LEDGER_SLOTS_LOG2);
  return bpf_map_lookup_elem(&ledger_slots, &slot);
}

/* Null for a thread without a ledger. Such calls are rare, so may_be_kept() would save nothing; its
 * pointer load makes programs slow to load (see runs_for_target()). */
static __always_inline struct thread_ledger* ledger_of(struct task_struct* task) {
  struct ledger_slot* slot = slot_of(task);
  if (slot && slot->owner == (u64)task) return &slot->ledger;
  return find_of_thread(ledgers, task);
}

/* Larger than the stack of a program. */
static const volatile struct thread_ledger empty_ledger;

/* Null if there is no room. No hook reads the ledger before the caller has filled it: `task` has
 * not run since the session began. */
static __always_inline struct thread_ledger* make_ledger(struct task_struct* task) {
  const struct thread_ledger* initial = (const struct thread_ledger*)&empty_ledger;
  struct ledger_slot* slot = slot_of(task);
  if (slot) {
    /* The same owner: a thread at this address ended, and the kernel hid its end. */
    u64 before = slot->owner == (u64)task ? (u64)task : 0;
    if (__sync_val_compare_and_swap(&slot->owner, before, SLOT_IS_BEGUN) == before) {
      slot->ledger = *initial;
      __sync_lock_test_and_set(&slot->owner, (u64)task);
      return &slot->ledger;
    }
  }
  return make_of_thread(ledgers, task, initial);
}

/* Called when the thread is freed. */
static __always_inline void forget_ledger(struct task_struct* task) {
  struct ledger_slot* slot = slot_of(task);
  if (slot && slot->owner == (u64)task)
    slot->owner = 0;
  else
    forget_thread(ledgers, task);
}

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

/* Adds the time on the CPU from the switch in until `now_ns`. `irq_ns` and `softirq_ns` are the
 * interrupt times of the CPU at `now_ns`; interrupts in between count as interrupts. */
static __always_inline void add_time_until(struct ledger_parts* sums,
                                           const struct thread_ledger* ledger, u64 irq_ns,
                                           u64 softirq_ns, u64 now_ns) {
  if (ledger->state != LEDGER_ON_CPU) return; /* the switch in was not seen */
  u64 gross_ns = now_ns - ledger->since_ns;
  irq_ns -= ledger->irq_mark_ns;
  softirq_ns -= ledger->softirq_mark_ns;
  if (irq_ns + softirq_ns > gross_ns) irq_ns = softirq_ns = 0; /* one came in between */
  sums->oncpu_ns += gross_ns - irq_ns - softirq_ns;
  sums->irq_ns += irq_ns;
  sums->softirq_ns += softirq_ns;
}

/* add_time_until() the present. Called on the thread's CPU, not in an interrupt. */
static __always_inline void add_time_on_cpu(struct ledger_parts* sums,
                                            const struct thread_ledger* ledger,
                                            const struct cpu_ledger* cpu, u64 now_ns) {
  add_time_until(sums, ledger, cpu->irq_ns, cpu->softirq_ns, now_ns);
}

/* Copies the begin of the call on `cpu`, which is the thread's own, to its ledger, if missing. */
static __always_inline void note_call(struct thread_ledger* ledger, const struct cpu_ledger* cpu) {
  u64 call_ns = cpu->call.begin_ns;
  if (call_ns <= ledger->call_ns) return;
  ledger->call_ns = call_ns;
  ledger->at_call = ledger->sums;
  if (call_ns < ledger->since_ns) return;
  u64 irq_ns = cpu->call_irq_ns, softirq_ns = cpu->call_softirq_ns;
  /* If the switch in was not seen, the marks may be later than the begin of the call. */
  if (irq_ns < ledger->irq_mark_ns) irq_ns = ledger->irq_mark_ns;
  if (softirq_ns < ledger->softirq_mark_ns) softirq_ns = ledger->softirq_mark_ns;
  add_time_until(&ledger->at_call.parts, ledger, irq_ns, softirq_ns, call_ns);
}

/* The sums of the running thread at `now_ns`. They add up to the time since the ledger began,
 * except for time that no hook saw. */
static __always_inline void read_ledger(const struct thread_ledger* ledger,
                                        const struct cpu_ledger* cpu, u64 now_ns,
                                        struct ledger_sums* sums) {
  *sums = ledger->sums;
  add_time_on_cpu(&sums->parts, ledger, cpu, now_ns);
}

/* The parts of a span: subtracts the sums at its begin from `all`, the sums at its end. A negative
 * time on the CPU means that an interrupt came after the clock was read for the end, and before
 * the sums were read. The time of that interrupt is not part of the span. */
static __always_inline void subtract_sums(struct ledger_sums* all,
                                          const struct ledger_sums* at_begin) {
  struct ledger_parts* sums = &all->parts;
  const struct ledger_parts* begin = &at_begin->parts;
  all->throttled_ns -= at_begin->throttled_ns;
  sums->oncpu_ns -= begin->oncpu_ns;
  sums->runqueue_ns -= begin->runqueue_ns;
  sums->preempted_ns -= begin->preempted_ns;
  sums->sleeping_ns -= begin->sleeping_ns;
  sums->uninterruptible_ns -= begin->uninterruptible_ns;
  sums->irq_ns -= begin->irq_ns;
  sums->softirq_ns -= begin->softirq_ns;
  if ((s64)sums->oncpu_ns >= 0) return;
  u64 later_ns = -sums->oncpu_ns;
  u64 later_irq_ns = later_ns < sums->irq_ns ? later_ns : sums->irq_ns;
  sums->oncpu_ns = 0;
  sums->irq_ns -= later_irq_ns;
  later_ns -= later_irq_ns;
  sums->softirq_ns -= later_ns < sums->softirq_ns ? later_ns : sums->softirq_ns;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* What every thread has spent its time on so far: running sums, kept by probes/sched, asked by
 * every probe that has a span of a thread to explain. A span takes the sums at its begin from those
 * at its end. */
#pragma once

#include "bpf/session.bpf.h"
#include "bpf/thread_ledger.h"
#include "bpf/thread_storage.bpf.h"

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

/* What a span's parts are: `sums` at its end become those between `begin` and its end. Where less
 * than nothing is left for the CPU, an interrupt came when the end had been read, but not the sums:
 * what it took is none of the span's. */
static __always_inline void subtract_parts(struct ledger_parts* sums,
                                           const struct ledger_parts* begin) {
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
  sums->softirq_ns -= later_ns - later_irq_ns;
}

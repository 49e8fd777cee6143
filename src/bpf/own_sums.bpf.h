/* SPDX-License-Identifier: GPL-2.0 */
/* The sums of the running thread, for probes whose spans a thread is in throughout. */
#pragma once

#include "bpf/ledger.bpf.h"

const volatile u8 want_ledgers; /* the session keeps ledgers of threads */

/* The running thread's sums until `now_ns`. False if they are not known: an interrupt has the CPU,
 * the switch to the thread was not seen, or the thread is just being switched out. */
static __noinline int read_own_sums(struct task_struct* task, u64 now_ns,
                                    struct ledger_sums* sums) {
  if (!want_ledgers || !task || !sums) return 0;
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!ledger || !cpu || cpu->irq_begin_ns || cpu->softirq_begin_ns) return 0;
  u64 since_ns = ledger->since_ns;
  if (ledger->state != LEDGER_ON_CPU || since_ns > now_ns) return 0;
  barrier();
  read_ledger(ledger, cpu, now_ns, sums);
  barrier();
  return ledger->since_ns == since_ns;
}

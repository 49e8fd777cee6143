/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that no other thread interrupts while they hold what belongs to their CPU: a scratch
 * buffer, a counter, a ledger. Linux up to 7.1 runs programs of tracepoints so. Since 7.2 a thread
 * can be preempted in them (trace_call_bpf_faultable() came with that), and the kernel passes over
 * a program that is under way on a CPU: other threads' events there are missed, and counted. This
 * does not mend that, for a thread can be preempted before and after; kernel/call_hooks.h says how
 * calls, forks and exits are had without a miss. */
#pragma once

#include "bpf/kernel.h"

struct trace_event_call {};

/* Never called: whether it is there says that programs can be preempted. */
extern unsigned int trace_call_bpf_faultable(struct trace_event_call* call,
                                             void* ctx) OPTIONAL_FUNCTION NEVER_CALLED;
extern void bpf_preempt_disable(void) OPTIONAL_FUNCTION;
extern void bpf_preempt_enable(void) OPTIONAL_FUNCTION;
extern void bpf_local_irq_save(unsigned long* flags__irq_flag) OPTIONAL_FUNCTION;
extern void bpf_local_irq_restore(unsigned long* flags__irq_flag) OPTIONAL_FUNCTION;

static __always_inline void forbid_preemption(void) {
  if (&trace_call_bpf_faultable) bpf_preempt_disable();
}

/* With interrupts off the thread keeps its CPU though another is due: it leaves it at the next
 * occasion, a moment later, when the program has ended. */
static __always_inline void allow_preemption(void) {
  unsigned long flags;
  if (!&trace_call_bpf_faultable) return;
  bpf_local_irq_save(&flags);
  bpf_preempt_enable();
  bpf_local_irq_restore(&flags);
}

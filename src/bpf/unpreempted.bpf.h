/* SPDX-License-Identifier: GPL-2.0 */
/* Programs that are not preempted while they use data of their CPU: a scratch buffer, a counter, a
 * ledger. Linux up to 7.1 disables preemption in programs of tracepoints. Linux 7.2 does not
 * (trace_call_bpf_faultable() came with this change), and skips a program that is under way on the
 * CPU: events of other threads there are missed, and counted. The functions below do not prevent
 * such misses, since a thread can be preempted before and after the section. kernel/call_hooks.h
 * says how calls, forks and exits are measured without misses. */
#pragma once

#include "bpf/kernel.h"

struct trace_event_call {};

/* Never called: its presence means that programs can be preempted. */
extern unsigned int trace_call_bpf_faultable(struct trace_event_call* call,
                                             void* ctx) OPTIONAL_FUNCTION NEVER_CALLED;
extern void bpf_preempt_disable(void) OPTIONAL_FUNCTION;
extern void bpf_preempt_enable(void) OPTIONAL_FUNCTION;
extern void bpf_local_irq_save(unsigned long* flags__irq_flag) OPTIONAL_FUNCTION;
extern void bpf_local_irq_restore(unsigned long* flags__irq_flag) OPTIONAL_FUNCTION;

static __always_inline void forbid_preemption(void) {
  if (&trace_call_bpf_faultable) bpf_preempt_disable();
}

/* Disabled interrupts keep bpf_preempt_enable() from switching to another thread. The switch
 * follows a moment later, when the program has ended. */
static __always_inline void allow_preemption(void) {
  unsigned long flags;
  if (!&trace_call_bpf_faultable) return;
  bpf_local_irq_save(&flags);
  bpf_preempt_enable();
  bpf_local_irq_restore(&flags);
}

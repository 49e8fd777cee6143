/* SPDX-License-Identifier: GPL-2.0 */
/* Hooks that record, for each CPU, the time that interrupts take and the interrupt that the CPU is
 * in, which may be a waker. The hooks dereference none of their arguments, so they need no types
 * (tp_btf): newer kernels take milliseconds to find these for each program. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"

#define IRQ_WAKE_THREAD 2 /* include/linux/irqreturn.h */

static __always_inline void begin_irq(u16 context, u16 number, u64 action) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu) return;
  cpu->irq_context = context;
  cpu->irq_number = number;
  cpu->irq_action = action;
  cpu->looked_ns = cpu->irq_begin_ns = bpf_ktime_get_ns();
}

static __always_inline void end_irq(bool leaves_rest) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu || !cpu->irq_begin_ns) return;
  cpu->irq_ns += ns_between(cpu->irq_begin_ns, bpf_ktime_get_ns());
  cpu->irq_begin_ns = 0;
  cpu->irq_leaves_rest = leaves_rest;
}

SEC("raw_tp/irq_handler_entry")
int COUNTED_PROG(on_irq_entry, int irq, struct irqaction* action) {
  begin_irq(WAKER_IRQ, irq, (u64)action);
  return 0;
}

SEC("raw_tp/irq_handler_exit")
int COUNTED_PROG(on_irq_exit, int irq, struct irqaction* action, int result) {
  end_irq(result == IRQ_WAKE_THREAD);
  return 0;
}

#define VECTOR_EXIT(vector)              \
  SEC("?raw_tp/" #vector "_exit")        \
  int COUNTED_PROG(on_##vector##_exit) { \
    end_irq(false);                      \
    return 0;                            \
  }

#define VECTOR_HOOKS(vector, number)      \
  SEC("?raw_tp/" #vector "_entry")        \
  int COUNTED_PROG(on_##vector##_entry) { \
    begin_irq(WAKER_VECTOR, number, 0);   \
    return 0;                             \
  }                                       \
  VECTOR_EXIT(vector)

SEC("?raw_tp/local_timer_entry")
int COUNTED_PROG(on_local_timer_entry) {
  begin_irq(WAKER_VECTOR, VECTOR_LOCAL_TIMER, 0);
  if (takes_samples()) sample_cpu(ctx);
  return 0;
}

VECTOR_EXIT(local_timer)
VECTOR_HOOKS(reschedule, VECTOR_RESCHEDULE)
VECTOR_HOOKS(call_function, VECTOR_CALL_FUNCTION)
VECTOR_HOOKS(call_function_single, VECTOR_CALL_FUNCTION_SINGLE)
VECTOR_HOOKS(irq_work, VECTOR_IRQ_WORK)

SEC("raw_tp/softirq_entry")
int COUNTED_PROG(on_softirq_entry, unsigned int vector) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu) return 0;
  cpu->softirq_number = vector;
  cpu->irq_ns_at_softirq = cpu->irq_ns;
  cpu->softirq_begin_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("raw_tp/softirq_exit")
int COUNTED_PROG(on_softirq_exit, unsigned int vector) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu || !cpu->softirq_begin_ns) return 0;
  u64 gross_ns = ns_between(cpu->softirq_begin_ns, bpf_ktime_get_ns());
  cpu->softirq_ns += ns_between(cpu->irq_ns - cpu->irq_ns_at_softirq, gross_ns);
  cpu->softirq_begin_ns = 0;
  return 0;
}

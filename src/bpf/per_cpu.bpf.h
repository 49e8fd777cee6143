/* SPDX-License-Identifier: GPL-2.0 */
/* Per-CPU variables of the kernel. Not every kernel exposes where those of a CPU begin. But a
 * thread has a pointer to the run queue of its CPU, which is a per-CPU variable, and BTF has the
 * offsets of all per-CPU variables (kernel/per_cpu.h). */
#pragma once

#include "bpf/kernel.h"
#include "bpf/per_cpu.h"

const volatile struct per_cpu_offsets per_cpu;

/* The address at which this CPU's variables begin; 0 if a check against `current` fails. */
static __always_inline u64 find_per_cpu_base(struct task_struct* current) {
  if (!per_cpu.runqueues || !per_cpu.current_task || !bpf_core_field_exists(current->se.cfs_rq->rq))
    return 0;
  u64 base = (u64)BPF_CORE_READ(current, se.cfs_rq, rq) - per_cpu.runqueues;
  u64 running = 0;
  bpf_probe_read_kernel(&running, sizeof(running), (void*)(base + per_cpu.current_task));
  return running == (u64)current ? base : 0;
}

/* The preempt count of the CPU whose variables begin at `base`; false if it is not known. */
static __always_inline bool read_preempt_count(u64 base, u32* value) {
  if (!base || !per_cpu.preempt_count) return false;
  return bpf_probe_read_kernel(value, sizeof(*value), (void*)(base + per_cpu.preempt_count)) == 0;
}

/* Called in an interrupt of that CPU. True if the interrupt came in user mode; false if it did not,
 * or that is not known. */
static __always_inline bool user_mode_interrupted(u64 base) {
  struct pt_regs* regs = 0;
  if (!base || !per_cpu.irq_regs) return false;
  bpf_probe_read_kernel(&regs, sizeof(regs), (void*)(base + per_cpu.irq_regs));
  return regs && (BPF_CORE_READ(regs, cs) & 3) == 3;
}

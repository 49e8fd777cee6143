/* SPDX-License-Identifier: GPL-2.0 */
/* The record of a wake-up that ends a long sleep. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"
#include "bpf/target.bpf.h"
#include "probes/sched/disks.bpf.h"

/* Room for a record with its stack: a reservation's size must be a constant. */
struct wake_with_stack {
  struct sched_wake wake;
  u64 stack[KERNEL_FRAMES_MAX];
};

/* What the running thread did until it woke another. A softirq may be part of the thread's call. */
static __always_inline void fill_waker_sums(struct sched_wake* wake, struct task_struct* waker,
                                            const struct cpu_ledger* cpu, u64 now_ns) {
  struct ledger_sums sums = {};
  bool in_hard_irq = wake->context == WAKER_IRQ || wake->context == WAKER_VECTOR;
  const struct thread_ledger* ledger = in_hard_irq ? 0 : ledger_of(waker);
  bool runs = ledger && ledger->state == LEDGER_ON_CPU;
  if (runs) read_ledger(ledger, cpu, now_ns, &sums);
  wake->sums = sums.parts;
  wake->throttled_sum_ns = sums.throttled_ns;
  wake->ran_since_ns = runs ? ledger->ran_since_ns : 0;
}

static __noinline int record_wake(u64* ctx, struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                  u32 wakee_tid) {
  if (!ledger || !cpu) return 0;
  struct task_struct* current = bpf_get_current_task_btf();
  void* ring = this_cpu_ring();
  struct wake_with_stack* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  struct sched_wake* wake = &record->wake;
  fill_who(&wake->header, current, 0, ledger->wake_ns);
  wake->out_ns = ledger->since_ns;
  wake->wakee_tid = wakee_tid;
  wake->context = ledger->waker_context;
  wake->number = ledger->waker_number;
  __builtin_memset(wake->reserved, 0, sizeof(wake->reserved));
  __builtin_memset(wake->irq_name, 0, COMM_SIZE);
  if (wake->context == WAKER_IRQ && cpu->irq_action) {
    struct irqaction* action = (struct irqaction*)cpu->irq_action;
    bpf_probe_read_kernel_str(wake->irq_name, COMM_SIZE, BPF_CORE_READ(action, name));
  }
  fill_waker_sums(wake, current, cpu, ledger->wake_ns);
  name_disk(wake, cpu);
  long bytes = bpf_get_stack(ctx, record->stack, sizeof(record->stack), 0);
  wake->kernel_frames = bytes > 0 ? bytes / 8 : 0;
  wake->header.kind = RECORD_SCHED_WAKE;
  wake->header.size = sizeof(*wake) + wake->kernel_frames * 8;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

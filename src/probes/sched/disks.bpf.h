/* SPDX-License-Identifier: GPL-2.0 */
/* The disk whose request is completed, by an interrupt, or by the thread to which the interrupt
 * left the rest. The thread that waits for the request is woken in the same interrupt, or run. */
#pragma once

#include "bpf/compat.bpf.h"
#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"

/* Start of the interrupt that the CPU is in, in ns; 0: none. */
static __always_inline u64 begin_of_interrupt(const struct cpu_ledger* cpu) {
  return cpu->irq_begin_ns ? cpu->irq_begin_ns : cpu->softirq_begin_ns;
}

SEC("?raw_tp/block_rq_complete")
int UNPREEMPTED_PROG(on_completion, struct request* request) {
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu) return 0;
  u64 since_ns = begin_of_interrupt(cpu);
  if (!since_ns) {
    const struct thread_ledger* ledger = ledger_of(bpf_get_current_task_btf());
    since_ns = ledger ? ledger->ran_since_ns : 0;
  }
  cpu->completing_since_ns = since_ns;
  cpu->disk = (u64)BPF_CORE_READ(request, q, disk);
  return 0;
}

static __always_inline void name_disk(struct sched_wake* wake, const struct cpu_ledger* cpu) {
  __builtin_memset(wake->disk, 0, sizeof(wake->disk));
  u64 since_ns = wake->context == WAKER_THREAD ? wake->ran_since_ns : begin_of_interrupt(cpu);
  if (!cpu->disk || !since_ns || cpu->completing_since_ns != since_ns) return;
  struct gendisk* disk = (struct gendisk*)cpu->disk;
  bpf_probe_read_kernel_str(wake->disk, sizeof(wake->disk), BPF_CORE_READ(disk, disk_name));
}

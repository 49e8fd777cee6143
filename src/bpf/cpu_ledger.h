// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

// A system call that has begun and not ended.
struct open_call {
  u64 begin_ns;
  u64 who;  // struct task_struct* of the thread, whose tid an exec may change; 0: no call. At the
            // end of the session also bits of enum call_claim
  u32 nr;
  u16 abi;
  u16 reserved;
};
WIRE_SIZE(struct open_call, 24);

#define SLICE_THREADS 4
#define SLICES_KEPT 64

// Run times of the threads of a CPU. A slice ends at the first context switch after slice_ns.
struct cpu_slice {
  u64 begin_ns;
  u64 others_ns;             // run time of threads for which there is no room
  u64 ns[SLICE_THREADS];     // 0: no thread
  u64 tasks[SLICE_THREADS];  // struct task_struct*; may be freed, or reused for another thread
  u32 tids[SLICE_THREADS];
};
WIRE_SIZE(struct cpu_slice, 96);

// The last slices of a CPU. The open slice is slices[begun % SLICES_KEPT].
struct cpu_runs {
  u64 begun;
  u64 task;      // struct task_struct* of the running thread, if its switch in was seen
  u64 since_ns;  // when `task` was switched in
  u64 last_ns;   // run time of the thread before `task`; 0: unknown
  struct cpu_slice slices[SLICES_KEPT];
};

// The time that interrupts have taken from a CPU, and the open call of its thread. Written on that
// CPU only, by hooks that do not nest; for the exception see call.bpf.h.
struct cpu_ledger {
  u64 irq_ns;
  u64 softirq_ns;        // net of hard interrupts
  u64 irq_begin_ns;      // 0: not in a hard interrupt
  u64 softirq_begin_ns;  // 0: not in a softirq
  u64 irq_ns_at_softirq;
  u64 calls;              // system calls of members that were measured on this CPU
  u64 irq_action;         // struct irqaction* of a device interrupt
  u64 looked_ns;          // last clock read by a switch or a hard interrupt, ticks included
  u64 arrival_offset_ns;  // our clock less the clock of struct sched_info; 0: not known yet
  u16 irq_context;        // enum waker_context of the hard interrupt
  u16 irq_number;
  u16 softirq_number;
  u16 irq_leaves_rest;  // 1: the last handler left the rest of the work to its thread
  // The open call, and the interrupt times at its begin. The ledger of the thread gets both when
  // the thread leaves the CPU: few calls last that long.
  struct open_call call;
  u64 call_irq_ns;
  u64 call_softirq_ns;
  u64 sampled_ns;           // when the user stack of a running thread was last sampled
  u64 member;               // member_key() of the running thread; as in thread_ledger
  u64 disk;                 // struct gendisk* of the last request completed on this CPU
  u64 completing_since_ns;  // begin of the interrupt or run that completed the request
  struct cpu_runs runs;
};
WIRE_SIZE(struct cpu_ledger, 184 + 96 * SLICES_KEPT);

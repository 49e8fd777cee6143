// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

// A system call that has begun and not ended.
struct open_call {
  u64 begin_ns;
  u64 who;  // its thread's task_struct: an exec gives that another tid. 0: there is no call. Once
            // the session has ended, also enum call_claim
  u32 nr;
  u16 abi;
  u16 reserved;
};
WIRE_SIZE(struct open_call, 24);

#define SLICE_THREADS 4
#define SLICES_KEPT 64

// Who ran on a CPU for some time: a slice ends with a switch, once it has lasted.
struct cpu_slice {
  u64 begin_ns;
  u64 others_ns;             // more threads than there is room for
  u64 ns[SLICE_THREADS];     // 0: it has no thread
  u64 tasks[SLICE_THREADS];  // struct task_struct*; may be gone, or another's by now
  u32 tids[SLICE_THREADS];
};
WIRE_SIZE(struct cpu_slice, 96);

// The last slices of a CPU; the one that goes on is slices[begun % SLICES_KEPT].
struct cpu_runs {
  u64 begun;
  u64 task;      // struct task_struct* of the thread that runs, if its coming was seen
  u64 since_ns;  // when it came
  u64 last_ns;   // how long the one before it ran; 0: not known
  struct cpu_slice slices[SLICES_KEPT];
};

// What interrupts have taken of a CPU, and the call in which its thread is. Written on that CPU
// only, by hooks that do not nest; but see call.bpf.h.
struct cpu_ledger {
  u64 irq_ns;
  u64 softirq_ns;        // net of hard interrupts
  u64 irq_begin_ns;      // 0: not in one
  u64 softirq_begin_ns;  // 0: not in one
  u64 irq_ns_at_softirq;
  u64 calls;       // system calls of members that were looked at here
  u64 irq_action;  // struct irqaction*, while it is a device's
  u64 looked_ns;   // when a switch or a hard interrupt, so also a tick, last read the clock here
  u64 arrival_offset_ns;  // our clock less that of the scheduler's notes; 0: not known yet
  u16 irq_context;        // enum waker_context of it, and its number
  u16 irq_number;
  u16 softirq_number;
  u16 irq_leaves_rest;  // 1: the handler that ended last left the rest to its thread
  // The call, and what interrupts had taken when it began. Its thread's ledger is told when that
  // leaves the CPU: few calls last so long.
  struct open_call call;
  u64 call_irq_ns;
  u64 call_softirq_ns;
  u64 sampled_ns;   // when it was last looked at where its thread is
  u64 member;       // the thread that runs, if it belongs to the target; as in its ledger
  u64 disk;         // struct gendisk* of the last request that was completed here …
  u64 disk_irq_ns;  // … in the interrupt that began then
  struct cpu_runs runs;
};
WIRE_SIZE(struct cpu_ledger, 184 + 96 * SLICES_KEPT);

// SPDX-License-Identifier: GPL-2.0
// What takes a CPU from the thread that is measured there, and what is kept of it. Written by the
// hooks of noise.bpf.h.
#pragma once

#include "bpf/sched.h"

// What took a CPU from a thread, innermost first: each may be interrupted by those before it.
// Stored in trace files: append only.
enum noise_kind {
  NOISE_NMI = 1,
  NOISE_IRQ = 2,      // a device's; number: as in /proc/interrupts
  NOISE_VECTOR = 3,   // one of the CPU's own; number: of the vector
  NOISE_SOFTIRQ = 4,  // number: enum of <linux/interrupt.h>
  NOISE_THREAD = 5,   // number: its tid
  NOISE_HARDWARE = 6  // all CPUs were stopped: no hook sees that, see find_machine_stop()
};
#define NOISE_KINDS 6  // that hooks see

// From its begin to its end, whatever interrupted it in between. A thread that others displaced
// meanwhile is several.
struct timerlat_noise {
  u64 begin_ns;
  u64 end_ns;
  u32 number;
  u16 kind;    // enum noise_kind
  s16 detail;  // of a vector: enum cpu_vector; of a thread: its priority when it left the CPU, as
               // the kernel counts: the lower, the more urgent; of SCHED_FIFO 99 - it
  char name[COMM_SIZE];
};
WIRE_SIZE(struct timerlat_noise, 40);

// What the hooks know of a CPU, beside the noises themselves.
struct noise_marks {
  u64 runs;  // of the hooks of osnoise, whose thread reads it
  u64 irq_begin_ns;
  u64 softirq_begin_ns;
  u64 running_since_ns;  // when the running thread was switched in; 0: nobody saw it
  u32 running_tid;
  u32 irq_number;
  u16 irq_kind;
  u16 irq_vector;
  u32 count;         // noises, ever
  u16 softirq_seen;  // one has begun, or ended
  u16 switch_seen;
  u32 by_kind[NOISE_KINDS];  // noises, ever
  u32 reserved;
};
WIRE_SIZE(struct noise_marks, 80);

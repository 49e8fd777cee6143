// SPDX-License-Identifier: GPL-2.0
// Noise of a CPU: interrupts and threads that take it from the thread measured there. Written by
// the hooks of noise.bpf.h.
#pragma once

#include "bpf/sched.h"

// Kinds of noise, innermost first: a kind can be interrupted by the kinds before it. Stored in
// trace files: append only.
enum noise_kind {
  NOISE_NMI = 1,
  NOISE_IRQ = 2,      // device interrupt; number: as in /proc/interrupts
  NOISE_VECTOR = 3,   // local interrupt; number: the vector
  NOISE_SOFTIRQ = 4,  // number: enum of <linux/interrupt.h>
  NOISE_THREAD = 5,   // number: the tid
  NOISE_HARDWARE = 6  // all CPUs stood still, unseen by hooks; see find_machine_stop()
};
#define NOISE_KINDS 6  // size of an array by enum noise_kind, NOISE_HARDWARE excluded

// One noise from its begin to its end, interruptions included. A thread that is preempted and runs
// again is several noises.
struct timerlat_noise {
  u64 begin_ns;
  u64 end_ns;
  u32 number;
  u16 kind;    // enum noise_kind
  s16 detail;  // local interrupt: enum cpu_vector; thread: kernel priority when it left the CPU,
               // lower is more urgent, 99 - priority for SCHED_FIFO
  char name[COMM_SIZE];
};
WIRE_SIZE(struct timerlat_noise, 40);

// The state of the hooks of a CPU, apart from the noises themselves.
struct noise_marks {
  u64 runs;  // hook runs, counted by osnoise and read by its thread
  u64 irq_begin_ns;
  u64 softirq_begin_ns;
  u64 running_since_ns;  // switch in of the running thread; 0: not seen
  u32 running_tid;
  u32 irq_number;
  u16 irq_kind;
  u16 irq_vector;
  u32 count;         // noises since the start
  u16 softirq_seen;  // 1: a softirq has begun or ended
  u16 switch_seen;
  u32 by_kind[NOISE_KINDS];  // noises since the start
  u32 reserved;
};
WIRE_SIZE(struct noise_marks, 80);

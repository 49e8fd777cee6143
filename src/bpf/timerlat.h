// SPDX-License-Identifier: GPL-2.0
// Activations of threads that wait for a timer again and again, and what kept each from running.
#pragma once

#include "bpf/noise.h"

#define TIMERLAT_CPUS_MAX 4096
#define TIMERLAT_NOISES_MAX 64  // of one activation; a power of two

enum activation_flags {
  ACTIVATION_STOPPED = 1,      // it was over a limit: the last one
  ACTIVATION_IN_IRQ = 2,       // … already when the interrupt came
  ACTIVATION_CUT = 4,          // there was more noise than is told of
  ACTIVATION_USER_MODE = 8,    // the interrupt came while a program's own code ran
  ACTIVATION_UNSEEN = 16,      // nobody saw the switch to the thread; time_ns is user_ns
  ACTIVATION_NO_CONTEXT = 32,  // preempt counts are not known
  ACTIVATION_IN_THREAD = 64  // time_ns and thread_preempt_count are of the thread itself, after the
                             // switch: the kernel's own tracer; user_ns is 0 where it does
                             // not tell of the way back
};

// One activation. header.time_ns is when the thread was switched in; the header's thread is that of
// the timer. Behind it: `noises` of what ended after the timer was to expire, newest first; then
// `kernel_frames` addresses: where the CPU was when the timer's interrupt came.
struct timerlat_activation {
  struct event_header header;
  u64 id;          // counts those of its CPU from 1
  u64 expires_ns;  // when the timer was to expire
  u64 irq_ns;      // when it did
  u64 user_ns;     // when the thread was back in its program
  u64 steal_ns;    // what the hypervisor says it took of the CPU since the activation before
  u32 flags;       // enum activation_flags
  u16 noises;
  u16 kernel_frames;
  u32 interrupted_tid;  // who ran when the interrupt came; 0: nobody
  u32 reserved;
  u32 irq_preempt_count;  // as the kernel has it, at irq_ns and at the switch
  u32 thread_preempt_count;
  char interrupted[COMM_SIZE];
};
WIRE_SIZE(struct timerlat_activation, 128);

enum silence_flags {
  SILENCE_READY = 1,  // whom the CPU's next interrupt met cannot have held it up: a program's own
                      // code, or nobody
};

// From a CPU's last event to its next, of a CPU that its own timer should have interrupted before.
struct timerlat_silence {
  u64 begin_ns;
  u64 end_ns;
  u32 flags;  // enum silence_flags
  u32 reserved;
};
WIRE_SIZE(struct timerlat_silence, 24);

#define SILENCES_KEPT 2  // a power of two

// What a thread and the programs say to each other about its activation; both are on its CPU.
struct timerlat_slot {
  u64 late_ns;   // 0 from the expiry on, until the thread writes how late it is back: at least 1
  u32 tid;       // of the thread; 0: none on this CPU
  u32 silences;  // ever
  struct timerlat_silence silence[SILENCES_KEPT];  // the latest, by number modulo SILENCES_KEPT
};
WIRE_SIZE(struct timerlat_slot, 64);

// SPDX-License-Identifier: GPL-2.0
// Activations of workload threads, which wait for a timer in a loop, and the noise that delays
// them.
#pragma once

#include "bpf/noise.h"

#define TIMERLAT_CPUS_MAX 4096
#define TIMERLAT_NOISES_MAX 64  // per activation; a power of two

enum activation_flags {
  ACTIVATION_STOPPED = 1,      // over a limit: the last activation of the session
  ACTIVATION_IN_IRQ = 2,       // … already when the interrupt came
  ACTIVATION_CUT = 4,          // more noises than the record has room for
  ACTIVATION_USER_MODE = 8,    // the interrupt came in user mode
  ACTIVATION_UNSEEN = 16,      // the switch to the thread was not seen; time_ns is user_ns
  ACTIVATION_NO_CONTEXT = 32,  // preempt counts are not known
  // From the kernel's own tracer: time_ns and thread_preempt_count are taken in the thread, after
  // the switch. user_ns is 0 if the tracer does not report the return to user space.
  ACTIVATION_IN_THREAD = 64,
  ACTIVATION_HAS_PRIORITY = 128,  // thread_priority is known
};

// One activation. header.time_ns is the switch in of the thread; the header's thread is the
// workload thread. Followed by `noises` noises that ended after expires_ns, newest first; then by
// `kernel_frames` addresses: the kernel stack of the CPU when the timer's interrupt came.
struct timerlat_activation {
  struct event_header header;
  u64 id;          // number of the activation on its CPU, from 1
  u64 expires_ns;  // time for which the timer was set
  u64 irq_ns;      // time at which the interrupt handler ran the timer
  u64 user_ns;     // time at which the thread was back in user space
  u64 steal_ns;    // steal time of the CPU since the previous activation, by the hypervisor
  u32 flags;       // enum activation_flags
  u16 noises;
  u16 kernel_frames;
  u32 interrupted_tid;    // thread that ran when the interrupt came; 0: idle
  s32 thread_priority;    // priority of SCHED_FIFO; below 1: the thread is not real-time
  u32 irq_preempt_count;  // the kernel's preempt count at irq_ns, and at the switch
  u32 thread_preempt_count;
  char interrupted[COMM_SIZE];
};
WIRE_SIZE(struct timerlat_activation, 128);

enum silence_flags {
  SILENCE_READY = 1,  // the next interrupt came in user mode or in the idle thread, neither of
                      // which can have delayed it
};

// The time between two events of a CPU, although its own timer should have interrupted it earlier.
struct timerlat_silence {
  u64 begin_ns;
  u64 end_ns;
  u32 flags;  // enum silence_flags
  u32 reserved;
};
WIRE_SIZE(struct timerlat_silence, 24);

#define SILENCES_KEPT 2  // a power of two

// Reason why a CPU had no activation. Stored in trace files: append only.
enum timerlat_absence {
  TIMERLAT_NOT_RUN = 1,      // the thread never ran
  TIMERLAT_NO_HOOKS = 2,     // the thread ran, but no hook saw it
  TIMERLAT_NO_READER = 3,    // no thread has read osnoise/per_cpu/cpuN/timerlat_fd
  TIMERLAT_NOT_WRITTEN = 4,  // the kernel's tracer wrote none
};

// A CPU at the end of a session: header.cpu. Written by user space.
struct timerlat_cpu {
  struct event_header header;
  u64 missed;    // periods skipped because the thread was still late
  u64 wakings;   // wake-ups of the thread
  u32 absence;   // enum timerlat_absence
  u32 silences;  // number of silences in the record
  struct timerlat_silence silence[SILENCES_KEPT];  // the latest, in any order
};
WIRE_SIZE(struct timerlat_cpu, 120);

// Data that a workload thread and the programs of its CPU exchange about its activation.
struct timerlat_slot {
  u64 late_ns;   // latency of the return to user space, at least 1; 0 from the expiry until then
  u32 tid;       // of the thread; 0: none on this CPU
  u32 silences;  // silences since the start
  struct timerlat_silence silence[SILENCES_KEPT];  // the latest, by number modulo SILENCES_KEPT
};
WIRE_SIZE(struct timerlat_slot, 64);

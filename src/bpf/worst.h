// SPDX-License-Identifier: GPL-2.0
// The longest latencies of a kind, and what happened within each. Written by probes/worst.
#pragma once

#include "bpf/wire.h"

// Which thread's wake-up is followed; as the kernel's tracers of these names choose it.
enum worst_tracer {
  WORST_WAKEUP = 1,          // the most important thread
  WORST_WAKEUP_RT = 2,       // … of those with a real-time or deadline policy
  WORST_WAKEUP_DL = 3,       // … with a deadline policy
  WORST_IRQSOFF = 4,         // interrupts disabled
  WORST_PREEMPTOFF = 5,      // preemption disabled
  WORST_PREEMPTIRQSOFF = 6,  // either
};

// What happened. Stored in trace files: append only.
enum worst_event_kind {
  WORST_EVENT_SWITCH = 1,  // other: who runs next
  WORST_EVENT_WAKING = 2,  // other: who is to be woken; number: the CPU it was on
  WORST_EVENT_WAKEUP = 3,  // other: who is runnable now; number: its CPU
  WORST_EVENT_WAKEUP_NEW = 4,
  WORST_EVENT_MIGRATE = 5,       // other: who is moved; number: the CPU it goes to
  WORST_EVENT_IRQ_ENTRY = 6,     // number: as in /proc/interrupts; other_comm: its action
  WORST_EVENT_IRQ_EXIT = 7,      // state: 1 where the handler took it
  WORST_EVENT_VECTOR_ENTRY = 8,  // number: the vector; state: enum cpu_vector
  WORST_EVENT_VECTOR_EXIT = 9,
  WORST_EVENT_SOFTIRQ_ENTRY = 10,  // number: 3 is NET_RX
  WORST_EVENT_SOFTIRQ_EXIT = 11,
};

#define WORST_PRIO_DEADLINE 65535

// What a latency is known by.
enum worst_bound {
  WORST_BOUND_EXACT = 0,        // by its begin and its end
  WORST_BOUND_LATE_TIMER = 1,   // it is longer: interrupts were disabled since a timer was due
  WORST_BOUND_LATE_SWITCH = 2,  // it is longer: the CPU could not switch since it was told to
  WORST_BOUND_LATE_BOTH = 3,    // it is longer: as 1, and from that interrupt on as 2
};

enum worst_event_flags {
  WORST_EVENT_HAS_COUNT = 1,  // preempt_count could be read
};

// One event of a window. The header's thread is who ran on that CPU.
struct worst_event {
  struct event_header header;
  u32 number;
  u32 other_tid;
  u32 preempt_count;  // the kernel's, tracing included
  u32 thread_flags;   // thread_info::flags of who ran
  u16 event;          // enum worst_event_kind
  u16 flags;          // enum worst_event_flags
  u16 prio;  // of who ran, as the kernel counts: 0 is the most important real-time priority,
             // 120 nice 0, 65535 a deadline
  u16 other_prio;
  u16 state;  // switch: task state of who leaves, 0 where it was preempted; else see above
  u16 reserved[3];
  char other_comm[COMM_SIZE];
};
WIRE_SIZE(struct worst_event, 96);

// A latency that was among the longest. The header's thread is whose it is, its CPU where it ended,
// its time when. Its events follow as records of their own, in time order. Behind it: the kernel
// stacks of the waking and of the end, `waking_frames` and `end_frames` addresses.
struct worst_window {
  struct event_header header;
  u64 begin_ns;   // sched_waking; of a lower bound: when it was so for certain
  u64 queued_ns;  // sched_wakeup, as far as it was seen: it is in a run queue; 0: was not seen
  u64 latency_ns;
  u64 serial;  // of this session's windows
  u32 waker_pid;
  u32 waker_tid;
  char waker_comm[COMM_SIZE];  // or of who was interrupted by what woke it
  u32 waker_cpu;
  u32 queued_cpu;  // whose run queue it came to
  u32 uid;
  u32 policy;
  u32 rt_priority;
  u32 static_prio;  // 120 is nice 0
  u32 prio;         // as in worst_event
  u32 events;       // that follow
  u32 lost_events;  // within the window, beyond those
  u16 tracer;       // enum worst_tracer
  u16 waking_frames;
  u16 end_frames;
  u16 bound;  // enum worst_bound
  u16 reserved[2];
};
WIRE_SIZE(struct worst_window, 152);

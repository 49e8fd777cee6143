// SPDX-License-Identifier: GPL-2.0
// The longest latencies of a kind, and the events within each. Written by probes/worst.
#pragma once

#include "bpf/wire.h"

// The kind of latency, after the kernel's tracers of these names. The first three track wake-ups.
enum worst_tracer {
  WORST_WAKEUP = 1,          // of the highest-priority thread
  WORST_WAKEUP_RT = 2,       // … among threads with a real-time or deadline policy
  WORST_WAKEUP_DL = 3,       // … among threads with a deadline policy
  WORST_IRQSOFF = 4,         // interrupts disabled
  WORST_PREEMPTOFF = 5,      // preemption disabled
  WORST_PREEMPTIRQSOFF = 6,  // either
};

// Stored in trace files: append only.
enum worst_event_kind {
  WORST_EVENT_SWITCH = 1,  // other: the next thread
  WORST_EVENT_WAKING = 2,  // other: the thread to wake; number: its last CPU
  WORST_EVENT_WAKEUP = 3,  // other: the thread, now runnable; number: its CPU
  WORST_EVENT_WAKEUP_NEW = 4,
  WORST_EVENT_MIGRATE = 5,       // other: the thread; number: the CPU to which it migrates
  WORST_EVENT_IRQ_ENTRY = 6,     // number: as in /proc/interrupts; other_comm: its action
  WORST_EVENT_IRQ_EXIT = 7,      // state: 1 if the handler handled the interrupt
  WORST_EVENT_VECTOR_ENTRY = 8,  // number: the vector; state: enum cpu_vector
  WORST_EVENT_VECTOR_EXIT = 9,
  WORST_EVENT_SOFTIRQ_ENTRY = 10,  // number: 3 is NET_RX
  WORST_EVENT_SOFTIRQ_EXIT = 11,
};

#define WORST_PRIO_DEADLINE 65535

// Whether a latency is exact or a lower bound.
enum worst_bound {
  WORST_BOUND_EXACT = 0,        // begin and end were seen
  WORST_BOUND_LATE_TIMER = 1,   // lower bound: interrupts were disabled since a timer was due
  WORST_BOUND_LATE_SWITCH = 2,  // lower bound: the CPU did not switch since it was asked to
  WORST_BOUND_LATE_BOTH = 3,    // lower bound: as 1, and from that interrupt on as 2
};

enum worst_event_flags {
  WORST_EVENT_HAS_COUNT = 1,  // preempt_count could be read
};

// One event of a window. The header's thread is the thread that ran on the CPU.
struct worst_event {
  struct event_header header;
  u32 number;
  u32 other_tid;
  u32 preempt_count;  // the kernel's, tracing included
  u32 thread_flags;   // thread_info::flags of the header's thread
  u16 event;          // enum worst_event_kind
  u16 flags;          // enum worst_event_flags
  u16 prio;  // kernel priority of the header's thread: 0 is the highest real-time priority, 120 is
             // nice 0, 65535 a deadline
  u16 other_prio;
  u16 state;  // switch: state of the thread that leaves, 0 if preempted; otherwise see above
  u16 reserved[3];
  char other_comm[COMM_SIZE];
};
WIRE_SIZE(struct worst_event, 96);

// Text of a kernel tracer's file `trace`. Followed by a piece of at most TRACER_TEXT_MAX bytes. The
// pieces of a session are consecutive. Written by user space.
struct tracer_text {
  struct event_header header;
};
WIRE_SIZE(struct tracer_text, 48);
#define TRACER_TEXT_MAX 32768

// One of the longest latencies. The header has its thread, and the CPU and the time of its end. Its
// events follow as records of their own, in time order. Followed by the kernel stacks of the
// wake-up and of the end: `waking_frames` and `end_frames` addresses.
struct worst_window {
  struct event_header header;
  u64 begin_ns;   // sched_waking; of a lower bound: the earliest certain begin
  u64 queued_ns;  // sched_wakeup: the thread is in a run queue; 0: not seen
  u64 latency_ns;
  u64 serial;  // number of the window in this session
  u32 waker_pid;
  u32 waker_tid;
  char waker_comm[COMM_SIZE];  // the waker, or the thread that the waking interrupt interrupted
  u32 waker_cpu;
  u32 queued_cpu;  // CPU of the run queue
  u32 uid;
  u32 policy;
  u32 rt_priority;
  u32 static_prio;  // 120 is nice 0
  u32 prio;         // as in worst_event
  u32 events;       // number of events that follow
  u32 lost_events;  // number of other events in the window, which were lost
  u16 tracer;       // enum worst_tracer
  u16 waking_frames;
  u16 end_frames;
  u16 bound;  // enum worst_bound
  u16 reserved[2];
};
WIRE_SIZE(struct worst_window, 152);

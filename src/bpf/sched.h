// SPDX-License-Identifier: GPL-2.0
// Waits of threads that may explain a stall, and what ended them. Written by probes/sched.
#pragma once

#include "bpf/span.h"

// Stored in trace files: append only.
enum wait_state {
  WAIT_PREEMPTED = 1,        // runnable all the while
  WAIT_SLEEPING = 2,         // S
  WAIT_UNINTERRUPTIBLE = 3,  // D
  WAIT_OTHER = 4,            // stopped, traced, or not seen from its begin
  WAIT_THROTTLED = 5,        // runnable all the while, but its cgroup had used up its CPU quota
  WAIT_UNKNOWN = 6,          // runnable all the while, yet its CPU idled when it left
};

// In which context somebody was woken. Stored in trace files: append only.
enum waker_context {
  WAKER_UNKNOWN = 0,
  WAKER_THREAD = 1,
  WAKER_SOFTIRQ = 2,  // number: enum of <linux/interrupt.h>, 3 is NET_RX
  WAKER_IRQ = 3,      // a device's; number: as in /proc/interrupts
  WAKER_VECTOR = 4,   // one of the CPU's own; number: enum cpu_vector
};

enum cpu_vector {
  VECTOR_NONE = 0,
  VECTOR_LOCAL_TIMER = 1,
  VECTOR_RESCHEDULE = 2,
  VECTOR_CALL_FUNCTION = 3,
  VECTOR_CALL_FUNCTION_SINGLE = 4,
  VECTOR_IRQ_WORK = 5,
};

enum wait_flags {
  WAIT_OF_MEMBER = 1,       // of the target; others are there to explain the target's
  WAIT_OWES_STACK = 2,      // a wait_stack of its thread follows, unless that ends before
  WAIT_RAN_SINCE_CALL = 4,  // the thread had the CPU from the begin of `call` until this wait
};

// A thread that was off the CPU, runs again. header.time_ns is when; the header's thread is the one
// that waited. Behind it: `kernel_frames` addresses, where it had waited.
struct sched_wait {
  struct event_header header;
  u64 out_ns;         // when it left the CPU
  u64 wake_ns;        // when it was woken; 0 where nobody saw it, or it was not asleep
  u32 state;          // enum wait_state
  u32 waker_tid;      // whose sched_wake, of the same wakee and time, says more, where it slept for
                      // long; in interrupts: who was interrupted
  u16 waker_context;  // enum waker_context
  u16 waker_number;
  u16 flags;  // enum wait_flags
  u16 kernel_frames;
  u32 displacer_tid;  // preempted: who took the CPU from it
  u32 behind_tid;     // who ran on its CPU just before it; 0: nobody
  char displacer[COMM_SIZE];
  char behind[COMM_SIZE];
  u32 waker_pid;  // process and name of waker_tid; 0 and empty where it had ended
  u32 call;  // a system call of a member that had ended: its number and 1; 0: it was in one, or
             // in its program, or that is unknown
  char waker[COMM_SIZE];
  u64 throttled_ns;  // of the time in which it could run: without its cgroup's quota it might have;
                     // the thread's sched_throttle of the same time says more
  u64 behind_ns;     // how long behind_tid ran while the thread could; the thread's sched_runs of
                     // the same time says more
  struct ledger_parts sums;  // of the thread, since its ledger began, with this wait
  u64 throttled_sum_ns;
  u64 place;    // equal for waits of a thread in one place; 0: it has none
  u64 call_ns;  // when `call` began
};
WIRE_SIZE(struct sched_wait, 240);

#define PLACES_NAMED 8

// Waits in one place.
struct wait_place {
  u64 place;     // as a sched_wait of the same call has it; 0: there are no more
  u64 ns;        // from switched out to switched in, of them all
  u64 ready_ns;  // of that: they could run
  u64 longest_ns;
  u32 count;
  u32 state;  // enum wait_state
};
WIRE_SIZE(struct wait_place, 40);

// In front of the span_record of a late call: its thread's short waits in that, which have no
// records of their own.
struct wait_places {
  struct event_header header;
  u64 call_ns;                             // when the call began
  u64 others_ns;                           // in more places than there is room for
  struct wait_place places[PLACES_NAMED];  // in no order
};
WIRE_SIZE(struct wait_places, 384);

#define RUNS_NAMED 8

// For how long a thread ran, while another could have.
struct sched_run {
  u64 ns;
  u32 tid;  // 0: the CPU idled
  u32 reserved;
  char comm[COMM_SIZE];  // empty: it has ended
};
WIRE_SIZE(struct sched_run, 32);

// In front of the sched_wait of the same thread and time: which threads had its CPU while it could
// run there. And in front of that, one of an earlier time for each other CPU in whose run queue it
// waited meanwhile. An interrupt's time counts with the thread that it interrupted.
struct sched_runs {
  struct event_header header;
  u64 others_ns;                      // more threads than there is room for
  struct sched_run runs[RUNS_NAMED];  // in no order; one of 0 ns ends them
};
WIRE_SIZE(struct sched_runs, 312);

#define THROTTLE_NAMES 4
#define THROTTLE_NAME_SIZE 72

// What keeps a thread from running. Stored in trace files: append only.
enum throttle_limit {
  THROTTLE_QUOTA = 0,      // the CPU quota of a cgroup
  THROTTLE_REAL_TIME = 1,  // what real-time threads have, of a cgroup; without a name, all of them
};

// In front of the sched_wait of the same thread and time: whose quota kept the thread from running.
struct sched_throttle {
  struct event_header header;
  u64 throttled_ns;
  u64 quota_ns;  // CPU time that the cgroup has in each period
  u64 period_ns;
  u64 throttler_id;  // of that cgroup, in the hierarchy of the controller `cpu`
  // The cgroup's own first, then of those above it; an empty one is the root's.
  char names[THROTTLE_NAMES][THROTTLE_NAME_SIZE];
  u32 limit;  // enum throttle_limit
  u32 reserved;
};
WIRE_SIZE(struct sched_throttle, 376);

// A thread that had slept for long is woken. The header's thread is the waker, or who was
// interrupted by it. Behind it: `kernel_frames` addresses, where the waker was.
struct sched_wake {
  struct event_header header;
  u64 out_ns;  // when the wakee had left the CPU
  u32 wakee_tid;
  u16 context;  // enum waker_context
  u16 number;
  u16 kernel_frames;
  u16 reserved[3];
  char irq_name[COMM_SIZE];  // of a device's interrupt
  // Of the thread that runs, but in a hard interrupt: its sums until now, and since when it runs.
  struct ledger_parts sums;
  u64 throttled_sum_ns;
  u64 ran_since_ns;
  char disk[COMM_SIZE];  // whose request an interrupt has completed; empty: none
};
WIRE_SIZE(struct sched_wake, 176);

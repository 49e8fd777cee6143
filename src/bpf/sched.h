// SPDX-License-Identifier: GPL-2.0
// Waits of threads that may explain a stall, and their wake-ups. Written by probes/sched.
#pragma once

#include "bpf/span.h"

// Stored in trace files: append only.
enum wait_state {
  WAIT_PREEMPTED = 1,        // runnable throughout
  WAIT_SLEEPING = 2,         // S
  WAIT_UNINTERRUPTIBLE = 3,  // D
  WAIT_OTHER = 4,            // stopped, traced, or the begin was not seen
  WAIT_THROTTLED = 5,        // runnable throughout, but the CPU quota of the cgroup was used up
  WAIT_UNKNOWN = 6,          // runnable throughout, yet the CPU idled when the thread left it
};

// The context of a wake-up. Stored in trace files: append only.
enum waker_context {
  WAKER_UNKNOWN = 0,
  WAKER_THREAD = 1,
  WAKER_SOFTIRQ = 2,  // number: enum of <linux/interrupt.h>, 3 is NET_RX
  WAKER_IRQ = 3,      // device interrupt; number: as in /proc/interrupts
  WAKER_VECTOR = 4,   // local interrupt; number: enum cpu_vector
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
  WAIT_OF_MEMBER = 1,       // of the target; other waits explain waits of the target
  WAIT_STACK_DEFERRED = 2,  // a wait_stack of the thread follows, unless the thread ends before
  WAIT_RAN_SINCE_CALL = 4,  // the thread had the CPU from the begin of `call` until this wait
  WAIT_UNARMED = 8,  // ended in a pause or at the end of the session: no span, but may explain one
};

// A wait of the header's thread, recorded when the thread is switched in, at header.time_ns.
// Followed by `kernel_frames` addresses: the kernel stack of the wait.
struct sched_wait {
  struct event_header header;
  u64 out_ns;         // when the thread was switched out
  u64 wake_ns;        // when the thread was woken; 0: not seen, or the thread did not sleep
  u32 state;          // enum wait_state
  u32 waker_tid;      // waker, or the thread that an interrupt interrupted; after a long sleep a
                      // sched_wake of the same wakee and time has details
  u16 waker_context;  // enum waker_context
  u16 waker_number;
  u16 flags;  // enum wait_flags
  u16 kernel_frames;
  u32 displacer_tid;  // WAIT_PREEMPTED: thread that preempted the header's thread; WAIT_OTHER: its
                      // tracer, if any
  u32 behind_tid;     // thread that ran on the CPU just before; 0: idle
  char displacer[COMM_SIZE];
  char behind[COMM_SIZE];
  u32 waker_pid;  // process of waker_tid; 0 if the waker has ended, and `waker` is empty
  u32 call;  // 1 + number of the ended system call from which a member returns; 0: in a call, in
             // the program, or unknown
  char waker[COMM_SIZE];
  u64 throttled_ns;  // runnable time in which a limit kept the thread from running; the thread's
                     // sched_throttle of the same time names the limit
  u64 behind_ns;     // run time of behind_tid while the thread was runnable; the thread's
                     // sched_runs of the same time has other threads
  struct ledger_parts sums;  // sums of the thread's ledger, this wait included
  u64 throttled_sum_ns;
  u64 place;    // equal for waits of a call in the same place; 0: the thread was in no known call
  u64 call_ns;  // begin of `call`
};
WIRE_SIZE(struct sched_wait, 240);

#define PLACES_NAMED 8

// Waits in one place.
struct wait_place {
  u64 place;     // as in a sched_wait of the same call; 0: end of the list
  u64 ns;        // sum of the waits, from switch out to switch in
  u64 ready_ns;  // runnable part of `ns`
  u64 longest_ns;
  u32 count;
  u32 state;  // enum wait_state
};
WIRE_SIZE(struct wait_place, 40);

// The short waits of a thread in a late call, which have no records of their own. Precedes the
// span_record of the call.
struct wait_places {
  struct event_header header;
  u64 call_ns;                             // begin of the call
  u64 others_ns;                           // waits in places for which there is no room
  struct wait_place places[PLACES_NAMED];  // in no order
};
WIRE_SIZE(struct wait_places, 384);

#define RUNS_NAMED 8

// The run time of a thread while another thread was runnable.
struct sched_run {
  u64 ns;
  u32 tid;  // 0: the CPU idled
  u32 reserved;
  char comm[COMM_SIZE];  // empty: the thread has ended
};
WIRE_SIZE(struct sched_run, 32);

// The threads that ran on the CPU of a runnable thread. Precedes the sched_wait of the same thread
// and time. If the thread was in the run queues of other CPUs before, one record of an earlier time
// for each of them comes first. The time of an interrupt counts for the interrupted thread.
struct sched_runs {
  struct event_header header;
  u64 others_ns;                      // run time of threads for which there is no room
  struct sched_run runs[RUNS_NAMED];  // in no order; 0 ns: end of the list
};
WIRE_SIZE(struct sched_runs, 312);

#define THROTTLE_NAMES 4
#define THROTTLE_NAME_SIZE 72

// The limit that throttles a thread. Stored in trace files: append only.
enum throttle_limit {
  THROTTLE_QUOTA = 0,      // the CPU quota of a cgroup
  THROTTLE_REAL_TIME = 1,  // the limit of real-time threads, of a cgroup; without a name, of all
};

// The limit that kept a thread from running. Precedes the sched_wait of the same thread and time.
struct sched_throttle {
  struct event_header header;
  u64 throttled_ns;
  u64 quota_ns;  // CPU time of the cgroup per period
  u64 period_ns;
  u64 throttler_id;  // id of the cgroup in the hierarchy of the controller `cpu`
  // The name of the cgroup, then of each cgroup above; empty: the root.
  char names[THROTTLE_NAMES][THROTTLE_NAME_SIZE];
  u32 limit;  // enum throttle_limit
  u32 reserved;
};
WIRE_SIZE(struct sched_throttle, 376);

// The wake-up of a thread after a long sleep. The header's thread is the waker, or the thread that
// the waking interrupt interrupted. Followed by `kernel_frames` addresses: the kernel stack of the
// waker.
struct sched_wake {
  struct event_header header;
  u64 out_ns;  // when the wakee was switched out
  u32 wakee_tid;
  u16 context;  // enum waker_context
  u16 number;
  u16 kernel_frames;
  u16 reserved[3];
  char irq_name[COMM_SIZE];  // name of the device interrupt
  // The running thread's sums until now, and its switch in; 0 in a hard interrupt.
  struct ledger_parts sums;
  u64 throttled_sum_ns;
  u64 ran_since_ns;
  char disk[COMM_SIZE];  // disk whose request the interrupt or thread completed; empty: none
};
WIRE_SIZE(struct sched_wake, 176);

// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/cpu_ledger.h"
#include "bpf/offcpu.h"
#include "bpf/span.h"

enum ledger_state {
  LEDGER_ON_CPU = 0,
  LEDGER_PREEMPTED = 1,  // the values from here on are those of enum wait_state
  LEDGER_SLEEPING = 2,
  LEDGER_UNINTERRUPTIBLE = 3,
  LEDGER_OTHER = 4,
};

// The parts, and the throttled time, which records have in another place.
struct ledger_sums {
  struct ledger_parts parts;
  u64 throttled_ns;
};

#define WAKE_UNTIMED (~0ull)  // the clock was not read: the time in struct sched_info is enough

// Written under the run queue lock of the CPU that switches the thread, or by the thread itself.
// Exception: the waker writes wake_ns and waker*; a sleeping thread has only one waker. The fields
// that a waker on another CPU reads or writes come first: in a slot, they share one cache line.
struct thread_ledger {
  u64 since_ns;           // begin of the present state
  u64 wake_ns;            // last wake-up; or WAKE_UNTIMED
  u64 waker;              // struct task_struct*; freed or reused if its tid is not waker_tid
  u32 waker_tid;          // 0: the idle thread, interrupted
  u16 waker_context;      // enum waker_context
  u16 waker_number;       // of the interrupt
  u32 state;              // enum ledger_state
  u32 cpu;                // CPU on which the thread was last switched in, or began a call
  struct open_call call;  // open call of a thread that is off the CPU

  u64 ran_since_ns;  // last switch in
  u64 irq_mark_ns;   // interrupt times of the CPU at the switch in
  u64 softirq_mark_ns;
  u64 call_ns;       // begin of the last system call in which the thread left the CPU, or which was
                     // late; may have ended
  u64 last_call_ns;  // begin of the last system call while the thread was last on a CPU
  u64 member;        // member_key(), see call.bpf.h
  u64 deferred_ns;   // end of the first wait whose stack is deferred; 0: none
  struct ledger_sums sums;     // sums up to since_ns
  struct ledger_sums at_call;  // sums at call_ns

  u64 noted_call_ns;   // begin of the late call whose waits are recorded even if short
  u64 hang_call_ns;    // begin of the open call that was reported as a hang
  u32 noted;           // number of waits recorded for noted_call_ns
  u32 is_copy_queued;  // 1: task work for the deferred stack is queued, see probes/sched
  u64 deferred_ip;     // user registers when the stack was deferred
  u64 deferred_sp;
  char displacer[COMM_SIZE];  // thread that preempted this thread; LEDGER_OTHER: its tracer
  u32 displacer_tid;          // LEDGER_OTHER: 0 without a tracer
  u16 is_left_idle;  // 1: runnable when it left the CPU, and the idle thread was switched in
  u16 reason;        // enum wait_reason of the wait that ends, while totals are kept

  u64 queue;              // struct cfs_rq* in which the thread waits; 0: cannot be throttled
  u64 throttler;          // struct task_group* of the limit, and THROTTLER_OF_REAL_TIME
  u64 real_time_queue;    // struct rt_rq* in which a real-time thread waits; 0: no such thread
  u64 throttled_mark_ns;  // time for which `queue` had been throttled at the switch out
  u64 throttled_ns;       // throttled part of the last wait
  u64 runs_until_ns;      // last migration in the wait; a sched_runs covers the time before

  struct thread_totals totals;  // for `overdue offcpu`
};

#define THROTTLER_OF_REAL_TIME 1ull  // without a task_group: the limit of all real-time threads

#define SLOT_IS_BEGUN 1

// The slot of a ledger: see ledger.bpf.h.
struct ledger_slot {
  u64 owner;  // struct task_struct*; 0: free; SLOT_IS_BEGUN: the ledger is not written yet
  struct thread_ledger ledger;
} __attribute__((aligned(64)));  // no two threads share a cache line

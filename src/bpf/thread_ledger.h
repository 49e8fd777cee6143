// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/cpu_ledger.h"
#include "bpf/span.h"

enum ledger_state {
  LEDGER_ON_CPU = 0,
  LEDGER_PREEMPTED = 1,  // these four as enum wait_state has them
  LEDGER_SLEEPING = 2,
  LEDGER_UNINTERRUPTIBLE = 3,
  LEDGER_OTHER = 4,
};

// The parts, and the one that records have elsewhere.
struct ledger_sums {
  struct ledger_parts parts;
  u64 throttled_ns;
};

#define WAKE_UNTIMED (~0ull)  // where the scheduler's note will do

// Written under the run queue's lock of the CPU that switches the thread, or by the thread itself;
// but wake_ns and waker*, by who wakes it: only one can, while it sleeps. What a waker on another
// CPU reads or writes comes first: in a seat, one cache line has it all.
struct thread_ledger {
  u64 since_ns;       // when its present state began
  u64 wake_ns;        // of the last wake-up; or WAKE_UNTIMED
  u64 waker;          // struct task_struct*; may be gone, or another's by now: then its tid is not
                      // waker_tid
  u32 waker_tid;      // 0: the idle thread, interrupted
  u16 waker_context;  // enum waker_context
  u16 waker_number;   // of the interrupt
  u32 state;          // enum ledger_state
  u32 cpu;            // where it was last seen to come, or to begin a call
  struct open_call call;  // in which it left the CPU, while it is away

  u64 ran_since_ns;  // when it was last switched in
  u64 irq_mark_ns;   // sums of its CPU when it was switched in
  u64 softirq_mark_ns;
  u64 call_ns;  // when the last system call began in which it left the CPU, or that was late, where
                // those are looked at; may have ended
  u64 last_call_ns;         // when the last one began in the time in which it ran on its last CPU
  u64 member;               // see call.bpf.h
  u64 owes_ns;              // its user stack, for waits that ended from then on; 0: it owes none
  struct ledger_sums sums;  // up to since_ns
  struct ledger_sums at_call;  // the sums when that call began

  u64 noted_call_ns;  // the call for which waits were noted beyond the long ones
  u64 hang_call_ns;   // the call in flight that was told of as a hang
  u32 noted;          // how many waits, of noted_call_ns
  u32 is_asked;       // the kernel was asked to let it pay what it owes: see probes/sched
  u64 owed_ip;        // its user registers when it began to owe that
  u64 owed_sp;
  char displacer[COMM_SIZE];  // who took the CPU from it
  u32 displacer_tid;
  u32 is_left_idle;  // it could run when it left the CPU, which has idled since

  u64 queue;            // struct cfs_rq* in which it was left; 0: it cannot be throttled there
  u64 throttler;        // struct task_group* whose quota keeps it there, and THROTTLER_OF_REAL_TIME
  u64 real_time_queue;  // struct rt_rq* in which it was left, as a real-time thread
  u64 throttled_mark_ns;  // for how long that queue was throttled before
  u64 throttled_ns;       // of the wait that ends: how long a quota kept it from running
  u64 runs_until_ns;      // migration time of the wait so far: a sched_runs covers what came before
};

#define THROTTLER_OF_REAL_TIME 1ull  // and no group: the limit of all real-time threads

#define SEAT_IS_BEGUN 1

// Where most ledgers are: see ledger.bpf.h.
struct ledger_seat {
  u64 owner;  // struct task_struct*; 0: it is free; SEAT_IS_BEGUN: its ledger is not yet
  struct thread_ledger ledger;
} __attribute__((aligned(64)));  // two threads' share no cache line

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

#define WAKE_UNTIMED (~0ull)  // where the scheduler's note will do

// Written under the run queue's lock of the CPU that switches the thread, or by the thread itself;
// but wake_ns and waker_*, by who wakes it: only one can, while it sleeps.
struct thread_ledger {
  struct ledger_parts sums;  // up to since_ns
  u64 since_ns;              // when its present state began
  u64 ran_since_ns;          // when it was last switched in
  u64 wake_ns;               // of the last wake-up; or WAKE_UNTIMED
  u64 irq_mark_ns;           // sums of its CPU when it was switched in
  u64 softirq_mark_ns;
  u64 call_ns;  // when the last system call began in which it left the CPU, or that was late, where
                // those are looked at; may have ended
  struct open_call call;  // in which it left the CPU, while it is away
  u64 member;             // see call.bpf.h
  u64 noted_call_ns;      // the call for which waits were noted beyond the long ones
  u64 hang_call_ns;       // the call in flight that was told of as a hang
  u32 noted;              // how many waits, of noted_call_ns
  u32 state;              // enum ledger_state
  u32 waker_tid;          // 0: the idle thread, interrupted
  u32 displacer_tid;      // who took the CPU from it
  u16 waker_context;      // enum waker_context
  u16 waker_number;       // of the interrupt
  u32 is_asked;           // the kernel was asked to let it pay what it owes: see probes/sched
  u32 cpu;                // where it was last seen to come, or to begin a call
  u32 reserved;
  u64 owes_ns;  // its user stack, for waits that ended from then on; 0: it owes none
  u64 owed_ip;  // its user registers when it began to owe that
  u64 owed_sp;
  u64 waker;  // struct task_struct*; may be gone, or another's by now: then its tid is not
              // waker_tid
  char displacer[COMM_SIZE];
  struct ledger_parts at_call;  // the sums when that call began
};

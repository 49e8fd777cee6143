// SPDX-License-Identifier: GPL-2.0
// Timers that programs wait for: when each was to wake its thread, and when the thread was back.
#pragma once

#include "bpf/sched.h"

#define NO_SYSCALL (~0u)

enum own_timer_flags {
  OWN_TIMER_AWAKE = 1,   // the thread had not gone to sleep yet: it never left its CPU
  OWN_TIMER_COMPAT = 2,  // `nr` is one of the 32-bit ABI's
  OWN_TIMER_KEPT = 4,    // a quota kept the thread behind the end of its call; else, before it ran
};

// One wake-up by a timer. header.time_ns is when the thread's system call ended, or, where a quota
// kept it then, when it ran again; its thread is the one that waited. Each moment is
// CLOCK_MONOTONIC and not before the one above it. Behind it: `kernel_frames` addresses, where the
// CPU was when the timer's interrupt came, if that was late.
struct own_timer {
  struct event_header header;
  u64 expires_ns;       // what the program asked for; or when it did, if that was over by then
  u64 slack_ns;         // how much later the kernel was allowed to be (PR_SET_TIMERSLACK)
  u64 irq_ns;           // the timer's function was called
  u64 wake_ns;          // it had the thread woken
  u64 run_ns;           // the thread was switched in
  u64 function;         // of the timer, in the kernel: what kind of timer it is
  u32 nr;               // the system call in which the thread waited; NO_SYSCALL: not known
  u32 flags;            // enum own_timer_flags
  u32 timer_cpu;        // where the timer expired
  u32 interrupted_tid;  // who ran there; 0: nobody
  u32 behind_tid;       // who had the thread's CPU just before it; 0: nobody
  u32 kernel_frames;
  char interrupted[COMM_SIZE];
  char behind[COMM_SIZE];
  u64 throttled_ns;  // for how long a limit kept the thread from its CPU: a sched_throttle of
                     // the same thread and time, in front, says whose
  u64 behind_ns;     // run time of behind_tid while the thread waited for that CPU
};
WIRE_SIZE(struct own_timer, 168);

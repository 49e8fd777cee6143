// SPDX-License-Identifier: GPL-2.0
// App timers: the expiry of each timer that a program waits for, and the return of its thread.
#pragma once

#include "bpf/sched.h"

#define NO_SYSCALL (~0u)

enum app_timer_flags {
  APP_TIMER_AWAKE = 1,   // the thread had not gone to sleep yet: it never left its CPU
  APP_TIMER_COMPAT = 2,  // `nr` is a number of the 32-bit ABI
  APP_TIMER_KEPT = 4,    // a quota kept the thread after the end of its call; else before it ran
};

// One wake-up by a timer. header.time_ns is the end of the thread's system call, or, if a quota
// kept the thread after the call, its next switch in. The header's thread is the thread that
// waited. Times are CLOCK_MONOTONIC and in ascending order. If the timer's interrupt was late,
// followed by `kernel_frames` addresses: the kernel stack of the CPU when the interrupt came.
struct app_timer {
  struct event_header header;
  u64 expires_ns;       // requested expiry; if already past, the time of the request
  u64 slack_ns;         // delay that the kernel was allowed to add (PR_SET_TIMERSLACK)
  u64 irq_ns;           // call of the timer's function
  u64 wake_ns;          // wake-up of the thread by that function
  u64 run_ns;           // switch in of the thread
  u64 function;         // address of the timer's function in the kernel: the kind of the timer
  u32 nr;               // system call in which the thread waited; NO_SYSCALL: not known
  u32 flags;            // enum app_timer_flags
  u32 timer_cpu;        // CPU on which the timer expired
  u32 interrupted_tid;  // thread that ran on timer_cpu; 0: idle
  u32 behind_tid;       // thread that ran on the thread's CPU just before it; 0: idle
  u32 kernel_frames;
  char interrupted[COMM_SIZE];
  char behind[COMM_SIZE];
  u64 throttled_ns;  // time for which a limit kept the thread from its CPU; a sched_throttle of
                     // the same thread and time precedes the record and names the limit
  u64 behind_ns;     // run time of behind_tid while the thread waited for that CPU
};
WIRE_SIZE(struct app_timer, 168);

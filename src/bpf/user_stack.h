// SPDX-License-Identifier: GPL-2.0
// User stacks of waiting threads, deferred: the thread itself copies its stack after the wait,
// before it is back in its program. Written by probes/sched.
#pragma once

#include "bpf/span.h"

// The deferred stack of all waits of the header's thread that have WAIT_STACK_DEFERRED and ended
// between since_ns and header.time_ns; the thread was not back in its program in between. With
// SPAN_HAS_USER_STACK, followed by struct user_registers and `user_bytes` as in a span_record; with
// SPAN_STACK_NAMED, as in frame.h. With neither, there was no stack to copy.
struct wait_stack {
  struct event_header header;  // the time of the copy
  u64 since_ns;                // end of the first of the waits
  u16 flags;                   // of enum span_flags
  u16 user_bytes;
  u32 reserved;
  u64 arguments[6];  // of the native system call in which the thread is, or from which it returns;
                     // 0 without a stack
};
WIRE_SIZE(struct wait_stack, 112);

#define SAMPLE_FRAMES 16
#define SAMPLE_STACK_MAX 2048  // limit of user_bytes

enum sample_reason {
  SAMPLE_OF_CPU = 0,    // at a tick, or when an interrupt preempted the thread in its program
  SAMPLE_OF_WAKER = 1,  // the thread woke another thread, at the time of a sched_wake
};

// The stacks of the running thread, which is the header's. `kernel` begins with the interrupt or
// the switch itself. The user stack follows as after a wait_stack: where the thread was in its
// program, or called the kernel.
struct cpu_sample {
  struct event_header header;
  u16 kernel_frames;
  u16 flags;  // of enum span_flags
  u16 user_bytes;
  u16 reason;  // enum sample_reason
  u64 kernel[SAMPLE_FRAMES];
};
WIRE_SIZE(struct cpu_sample, 56 + 8 * SAMPLE_FRAMES);

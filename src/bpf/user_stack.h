// SPDX-License-Identifier: GPL-2.0
// Where in its program a thread was when it waited: copied by the thread itself, later, before it
// was back there. Written by probes/sched.
#pragma once

#include "bpf/span.h"

// Of all waits of the header's thread that have WAIT_OWES_STACK and ended between since_ns and
// header.time_ns: it had not been back in its program meanwhile. Behind it, where `flags` has
// SPAN_HAS_USER_STACK, struct user_registers and `user_bytes` as in a span_record; with
// SPAN_STACK_NAMED, what frame.h says. Without either there was none to copy.
struct wait_stack {
  struct event_header header;  // when it was copied
  u64 since_ns;                // when the first of these waits ended
  u16 flags;                   // of enum span_flags
  u16 user_bytes;
  u32 reserved;
  u64 arguments[6];  // of a native system call that it was in, or came from; 0 where it has no
                     // stack
};
WIRE_SIZE(struct wait_stack, 112);

#define SAMPLE_FRAMES 16
#define SAMPLE_STACK_MAX 2048  // of user_bytes

enum sample_reason {
  SAMPLE_OF_CPU = 0,    // the CPU's tick came, or an interrupt took the thread out of its program
  SAMPLE_OF_WAKER = 1,  // the thread woke another, at the time of a sched_wake
};

// Where the header's thread was in its program. `kernel` begins with the interrupt or the switch
// itself; the user side, behind it as behind a wait_stack, is where the thread was in its program,
// or had called the kernel.
struct cpu_sample {
  struct event_header header;
  u16 kernel_frames;
  u16 flags;  // of enum span_flags
  u16 user_bytes;
  u16 reason;  // enum sample_reason
  u64 kernel[SAMPLE_FRAMES];
};
WIRE_SIZE(struct cpu_sample, 56 + 8 * SAMPLE_FRAMES);

// SPDX-License-Identifier: GPL-2.0
// Samples of running threads at a fixed rate. Written by probes/profile.
#pragma once

#include "bpf/origin.h"
#include "bpf/span.h"

// The event that takes samples. Stored in trace files: append only.
enum profile_event {
  PROFILE_CPU_CLOCK = 1,   // a timer of each CPU
  PROFILE_CPU_CYCLES = 2,  // a hardware counter of each CPU, which stands still while the CPU idles
};

// The stacks of the header's thread, which ran when its CPU's event came. Followed by
// `kernel_frames` addresses and the user side, as a span_record is. The kernel stack begins where
// the event interrupted the kernel; it is empty if the event interrupted the program.
struct profile_sample {
  struct event_header header;
  char process[COMM_SIZE];  // name of the thread that leads the process
  u16 kernel_frames;
  u16 flags;  // of enum span_flags
  u16 user_bytes;
  u16 reserved;
  struct process_origin origin;
};
WIRE_SIZE(struct profile_sample, 120);

// The events of the header's CPU. One record per CPU, at the end of the session.
struct profile_cpu {
  struct event_header header;
  u64 samples;  // events in threads of the target, lost samples included
  u64 idle;     // … while the CPU idled
  u64 others;   // … in other threads
  u32 rate_hz;  // as asked for
  u32 event;    // enum profile_event
};
WIRE_SIZE(struct profile_cpu, 80);

// SPDX-License-Identifier: GPL-2.0
// Effects of signals on threads.
#pragma once

#include "bpf/wire.h"

// A signal handler that ran between the end of a call and the return to the code that made the
// call. Precedes the span_record of that call, which has the same thread and time. Written by
// probes/syscalls.
struct signal_handler {
  struct event_header header;  // when the handler returned
  u64 begin_ns;
  u32 signal;
  u32 reserved;
};
WIRE_SIZE(struct signal_handler, 64);

// A signal that stops a process, sent by the header's thread. Written by probes/sched.
struct stop_signal {
  struct event_header header;
  u32 target_pid;  // the stopped process
  u32 signal;
  u32 is_from_kernel;  // 1: by the kernel, as for a terminal key; the thread only happened to run
  u32 reserved;
};
WIRE_SIZE(struct stop_signal, 64);

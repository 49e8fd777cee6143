// SPDX-License-Identifier: GPL-2.0
// What signals do to threads.
#pragma once

#include "bpf/wire.h"

// Written by probes/syscalls. In front of the span_record of the same thread and time, which is of
// a call whose end came earlier: the thread had to run a handler before it was back where it had
// called.
struct signal_handler {
  struct event_header header;  // when the handler returned
  u64 begin_ns;
  u32 signal;
  u32 reserved;
};
WIRE_SIZE(struct signal_handler, 64);

// Written by probes/sched. The header's thread has sent a signal that stops a process.
struct stop_signal {
  struct event_header header;
  u32 target_pid;  // of that process
  u32 signal;
  u32 is_from_kernel;  // 1: the kernel has, as for a key of the terminal: the thread met by chance
  u32 reserved;
};
WIRE_SIZE(struct stop_signal, 64);

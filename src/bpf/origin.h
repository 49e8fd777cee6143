// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

// The process of a thread, and the process that started it.
struct process_origin {
  u64 start_ns;             // start of the process (CLOCK_MONOTONIC)
  u32 parent_pid;           // process that started it, see starter_of(); 0: the kernel
  u32 is_known;             // 0: nothing of this is known
  char process[COMM_SIZE];  // name of the process: of its first thread
  char parent[COMM_SIZE];   // name of parent_pid when it started the process
};
WIRE_SIZE(struct process_origin, 48);

// What a thread that made noise belonged to when the noise ended.
struct noise_origin {
  struct process_origin origin;
  u64 cgroup_id;  // in the hierarchy that the session watches; 0: watches none
  u32 pid;
  u32 tid;        // of the thread; 0: nothing of this is known
  u32 of_kernel;  // 1: a thread of the kernel
  u32 reserved;
};
WIRE_SIZE(struct noise_origin, 72);

/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "bpf/wire.h"

enum queued_state {
  QUEUED_RUNNING = 0,  /* has the CPU */
  QUEUED_RUNNABLE = 1, /* waits for the CPU */
  QUEUED_ASLEEP = 2,   /* ran last on the CPU; or is stopped, or on its way to one of the others */
};

/* A thread, and the CPU whose run queue it is in, or was in last. */
struct queued_task {
  s64 tree_key_ns; /* se.vruntime: its place among the ordinary threads of its group */
  u64 switches;    /* times the thread left a CPU */
  u32 pid;
  u32 tid;
  u32 cpu;
  s32 prio;  /* of the scheduler: 0 to 99 real time, 100 to 139 for nice -20 to 19 */
  u32 state; /* enum queued_state */
  u32 reserved;
  char comm[COMM_SIZE];
};
WIRE_SIZE(struct queued_task, 56);

// SPDX-License-Identifier: GPL-2.0
// Per-CPU variables of the kernel.
#pragma once

#include "bpf/wire.h"

// Offsets in bytes from the begin of a CPU's variables; 0: the kernel has no such variable.
struct per_cpu_offsets {
  u32 runqueues;
  u32 current_task;
  u32 preempt_count;
  u32 irq_regs;
  u32 cpustat;
  u32 reserved;
};
WIRE_SIZE(struct per_cpu_offsets, 24);

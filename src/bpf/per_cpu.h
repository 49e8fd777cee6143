// SPDX-License-Identifier: GPL-2.0
// Variables of the kernel's that each CPU has its own of.
#pragma once

#include "bpf/wire.h"

// Where they are, from where those of a CPU begin; 0: the kernel has none of that name.
struct per_cpu_offsets {
  u32 runqueues;
  u32 current_task;
  u32 preempt_count;
  u32 irq_regs;
  u32 cpustat;
  u32 reserved;
};
WIRE_SIZE(struct per_cpu_offsets, 24);

// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

// What interrupts have taken of a CPU, and the last call that began on it. Written on that CPU
// only, by hooks that do not nest.
struct cpu_ledger {
  u64 irq_ns;
  u64 softirq_ns;        // net of hard interrupts
  u64 irq_begin_ns;      // 0: not in one
  u64 softirq_begin_ns;  // 0: not in one
  u64 irq_ns_at_softirq;
  u64 calls;       // system calls of members that were looked at here
  u64 irq_action;  // struct irqaction*, while it is a device's
  u64 looked_ns;   // when a switch or a hard interrupt, so also a tick, last read the clock here
  u64 arrival_offset_ns;  // our clock less that of the scheduler's notes; 0: not known yet
  u16 irq_context;        // enum waker_context of it, and its number
  u16 irq_number;
  u16 softirq_number;
  u16 reserved;
  // When the call began, and what interrupts had taken then. Its thread's ledger is told when that
  // leaves the CPU: few calls last so long.
  u64 call_ns;
  u64 call_irq_ns;
  u64 call_softirq_ns;
  u32 call_tid;
  u32 reserved_2;
};
WIRE_SIZE(struct cpu_ledger, 112);

// SPDX-License-Identifier: GPL-2.0
// A finished span that took as long as its threshold or longer, whatever kind it is: what every
// stall has in common. One record and one schema for all kinds, so that explaining, folding and
// printing are written once. (That of a system call follows the call's own record, written by the
// same program run: same tid, same time_ns.)
#pragma once

#include "bpf/wire.h"

// What a thread did between two moments: the parts add up to the time between them, but for what
// nobody saw (the ledger began later, or lost an event). Interrupts are taken out of the rest.
struct ledger_parts {
  u64 oncpu_ns;
  u64 runqueue_ns;         // woken, waiting for a CPU
  u64 preempted_ns;        // runnable all the while, but another thread ran
  u64 sleeping_ns;         // blocked, interruptible (S)
  u64 uninterruptible_ns;  // blocked, uninterruptible (D)
  u64 irq_ns;              // hard interrupts, while it was on the CPU
  u64 softirq_ns;          // soft interrupts, net of hard ones
};
WIRE_SIZE(struct ledger_parts, 56);

// Stored in trace files: append only.
enum span_kind {
  SPAN_NONE = 0,
  SPAN_SYSCALL = 1,
  SPAN_OFFCPU = 2,         // from switched out to switched in
  SPAN_WAKEUP = 3,         // from woken to running
  SPAN_BLOCK = 4,          // block I/O: issue to complete
  SPAN_BLOCK_QUEUED = 5,   // … insert to complete
  SPAN_IRQ = 6,            // a hard interrupt's handler
  SPAN_SOFTIRQ = 7,        // a soft interrupt's handler
  SPAN_SOFTIRQ_RAISE = 8,  // … raise to entry
  SPAN_VECTOR = 9,         // an interrupt vector's entry to exit (local timer, reschedule, …)
  SPAN_TIMER = 10,         // an hrtimer's expiry to its handler
  SPAN_WORK_QUEUED = 11,   // workqueue: queue to start
  SPAN_WORK = 12,          // … start to end
  SPAN_LOCK = 13,          // a contended kernel lock: begin to end of contention
  SPAN_TCP_CONNECT = 14,   // SYN sent to established or given up
  SPAN_PAIR = 15,          // the user's own: begin and end event with a key
  SPAN_COUNT,
};

enum span_flags {
  SPAN_HAS_LEDGER = 1,      // a thread lived through it, and `ledger` says how
  SPAN_HAS_USER_STACK = 2,  // registers and a copy of the user stack follow
  SPAN_STACK_CUT = 4,       // the copy ended at its limit, not at the end of the stack
  SPAN_OPEN = 8,            // not ended yet: latency_ns is its age
  SPAN_FAILED = 16,         // it ended in failure (a connection refused, a request in error)
  SPAN_WRITE = 32,          // a block request that changes the device
  SPAN_FLUSH = 64,          // a block request that empties the device's cache
  SPAN_STACK_NAMED = 128,   // in a recording: its frames follow instead, see frame.h
  SPAN_OLDER = 256,         // open, and it began before the session: latency_ns is a lower bound
};

#define SPAN_TEXT_SIZE 32
#define KERNEL_FRAMES_MAX 64

// Behind the fixed part of a record that has this in front, in this order: `kernel_frames`
// addresses of 8 bytes (the kernel stack at the end of the span, innermost first); where
// SPAN_HAS_USER_STACK, a struct user_registers and `user_bytes` of user memory from
// registers.rsp - USER_RED_ZONE upwards.
struct span_record {
  struct event_header header;  // at the span's end, in the context that ended it
  u64 latency_ns;
  u64 subject;  // by kind: system call number, irq, vector, function's or lock's address, device,
                // user's key
  u64 detail;  // by kind: bytes of a request, sector, errno, …; of a system call the time in memory
               // that it was given, in ns, of an open one for how long it has been off the CPU
  struct ledger_parts ledger;
  u32 begin_pid;  // who began it, where that may be another thread; else 0
  u32 begin_tid;
  u16 span;   // enum span_kind
  u16 flags;  // enum span_flags
  u16 kernel_frames;
  u16 user_bytes;
  char text[SPAN_TEXT_SIZE];  // by kind: name of the interrupt, the disk, the user's span; of an
                              // open system call, what its thread does: "sleeping"
  u64 throttled_ns;  // a part as those of `ledger`: kept from running by a cgroup's CPU quota
};
WIRE_SIZE(struct span_record, 184);

#define USER_RED_ZONE 128          // x86-64 leaf functions keep things below rsp
#define USER_STACK_MAX (48 << 10)  // of user_bytes: a record's size has 16 bits

// By the numbers DWARF gives the registers of x86-64.
struct user_registers {
  u64 rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
};
WIRE_SIZE(struct user_registers, 136);

// In the tables of probes, where a span waits for its end: each value begins with it. `subject` and
// `detail` as in the record, as far as they are known yet.
struct open_span {
  u64 begin_ns;
  u64 subject;
  u64 detail;
  u32 pid;  // who began it
  u32 tid;
};
WIRE_SIZE(struct open_span, 32);

// The same, where its text and flags are known as it begins.
struct named_span {
  struct open_span by;
  char text[SPAN_TEXT_SIZE];
  u64 flags;  // enum span_flags
};
WIRE_SIZE(struct named_span, 72);

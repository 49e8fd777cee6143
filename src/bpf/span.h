// SPDX-License-Identifier: GPL-2.0
// A late span: a finished span of any kind that took as long as its threshold or longer. All kinds
// share one record and one schema, so that diagnosis, folding and output are written once. (The
// span of a system call follows the record of the call, written by the same program run: same tid,
// same time_ns.)
#pragma once

#include "bpf/wire.h"

// The time of a thread between two moments. The parts add up to that time, except for time that no
// hook saw (the ledger began later, or lost an event). The other parts exclude interrupts.
struct ledger_parts {
  u64 oncpu_ns;
  u64 runqueue_ns;         // woken, waiting for a CPU
  u64 preempted_ns;        // runnable throughout, but another thread ran
  u64 sleeping_ns;         // blocked, interruptible (S)
  u64 uninterruptible_ns;  // blocked, uninterruptible (D)
  u64 irq_ns;              // hard interrupts, while the thread was on the CPU
  u64 softirq_ns;          // softirqs, likewise, net of hard interrupts
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
  SPAN_SOFTIRQ = 7,        // a softirq's handler
  SPAN_SOFTIRQ_RAISE = 8,  // … raise to entry
  SPAN_VECTOR = 9,         // a local interrupt (local timer, reschedule, …): entry to exit
  SPAN_TIMER = 10,         // an hrtimer's expiry to its handler
  SPAN_WORK_QUEUED = 11,   // workqueue: queue to start
  SPAN_WORK = 12,          // … start to end
  SPAN_LOCK = 13,          // a contended kernel lock: begin to end of contention
  SPAN_TCP_CONNECT = 14,   // SYN sent to established or abandoned
  SPAN_PAIR = 15,          // a user span: begin and end event with a key
  SPAN_TCP_ANSWER = 16,    // last data sent over a connection to the first data that came then
  SPAN_UNIX_ANSWER = 17,   // the same over a unix socket
  SPAN_PAGEFAULT = 18,     // a page fault: exception to the page being there
  SPAN_COUNT,
};
#define SPAN_KINDS_MAX 32  // size of tables by kind: room for kinds to come

enum span_flags {
  SPAN_HAS_LEDGER = 1,      // a thread was in the span throughout, and `ledger` has its parts
  SPAN_HAS_USER_STACK = 2,  // registers and a copy of the user stack follow
  SPAN_STACK_CUT = 4,       // the copy ended at its limit, not at the end of the stack
  SPAN_OPEN = 8,            // not ended yet: latency_ns is its age
  SPAN_FAILED = 16,         // ended in failure (a connection refused, a request in error)
  SPAN_WRITE = 32,          // a block request that changes the device
  SPAN_FLUSH = 64,          // a block request that flushes the device's cache
  SPAN_STACK_NAMED = 128,   // in a recording: resolved frames follow instead, see frame.h
  SPAN_OLDER = 256,         // open, and began before the session: latency_ns is a lower bound
  SPAN_KEY_HIDDEN = 512,    // the key of a user span means nothing to people
  SPAN_HAS_SUMS = 1024,     // `ledger` and throttled_ns are the thread's sums at the end, not parts
  SPAN_FOR_CLIENT = 2048,   // an answer: a client of the process waited throughout
  SPAN_HAS_PYTHON = 4096,   // a struct python_stack and its frames follow the user memory
};

#define SPAN_TEXT_SIZE 32
#define KERNEL_FRAMES_MAX 64

// Followed, in this order, by `kernel_frames` addresses of 8 bytes (the kernel stack at the end of
// the span, innermost first) and, with SPAN_HAS_USER_STACK, a struct user_registers and
// `user_bytes` of user memory from registers.rsp - USER_RED_ZONE upwards; with SPAN_HAS_PYTHON,
// what python.h says.
struct span_record {
  struct event_header header;  // the end of the span, in the context that ended it
  u64 latency_ns;
  u64 subject;  // by kind: system call number, irq, vector, address of a function or a lock,
                // device, key of a user span
  u64 detail;   // by kind: bytes of a request, sector, errno, …; system call: its timespec argument
                // in ns; open system call: ns in its present state off the CPU
  struct ledger_parts ledger;
  u32 begin_pid;  // process that began the span, if another thread may end it; else 0
  u32 begin_tid;
  u16 span;   // enum span_kind
  u16 flags;  // enum span_flags
  u16 kernel_frames;
  u16 user_bytes;
  char text[SPAN_TEXT_SIZE];  // by kind: name of the interrupt, the disk, the user span; open
                              // system call: state of its thread, such as "sleeping", or "traced
                              // NAME[TID]" with its tracer
  u64 throttled_ns;  // a part, like those of `ledger`: throttled by a quota or the real-time limit
};
WIRE_SIZE(struct span_record, 184);

#define USER_RED_ZONE 128          // x86-64 leaf functions keep data below rsp
#define USER_STACK_MAX (48 << 10)  // limit of user_bytes: the size of a record has 16 bits

// In the order of the DWARF register numbers of x86-64.
struct user_registers {
  u64 rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8, r9, r10, r11, r12, r13, r14, r15, rip;
};
WIRE_SIZE(struct user_registers, 136);

// A span that has not ended, as the first part of each value in a probe's table of open spans.
// `subject` and `detail` are those of the record, as far as known.
struct open_span {
  u64 begin_ns;
  u64 subject;
  u64 detail;
  u32 pid;  // process that began the span
  u32 tid;
};
WIRE_SIZE(struct open_span, 32);

// An open span whose text and flags are known at its begin.
struct named_span {
  struct open_span by;
  char text[SPAN_TEXT_SIZE];
  u64 flags;  // enum span_flags
};
WIRE_SIZE(struct named_span, 72);

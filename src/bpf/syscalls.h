// SPDX-License-Identifier: GPL-2.0
// Shared by syscalls.bpf.c (BPF C) and the C++ of this folder.
#pragma once

#include "bpf/histogram.h"
#include "bpf/origin.h"

enum syscall_abi {
  ABI_NATIVE = 0,  // x86-64 `syscall`
  ABI_COMPAT = 1,  // i386: `int 0x80`, 32-bit sysenter and syscall
  ABI_X32 = 2,     // x32: number without its 0x40000000 bit
  ABI_COUNT = 3,
  ABI_SLOTS =
      4,  // ABI_COUNT rounded up to a power of two: an index the verifier can see is in range
};

#define SYSCALL_TABLE_SIZE \
  512  // numbers below this have an array slot each; others go through a hash
#define SYSCALL_SET_WORDS \
  (ABI_SLOTS * SYSCALL_TABLE_SIZE / 64)  // a set of calls, one bit each, by ABI and number
#define SYSCALL_ARGUMENTS 6
#define SYSCALL_TEXT_SIZE 256  // longest string argument kept, its NUL included
#define SYSCALL_TEXTS 2        // rename(2) and its kin have two paths

// For a call that is still open: an iterator can write 32 KiB at once, and all must fit.
#define HANG_STACK_MAX (24 << 10)

// The string arguments follow the struct: `text_size` bytes in all, one NUL-terminated string for
// each set bit of `text_arguments`, lowest argument first.
struct syscall_call {
  struct event_header header;
  u64 latency_ns;
  s64 ret;
  u64 arguments[SYSCALL_ARGUMENTS];
  u32 nr;
  u16 abi;            // enum syscall_abi
  u16 text_size;      // bytes of strings behind this struct
  u8 text_arguments;  // bit i: argument i is a string that was read
  u8 text_truncated;  // bit i: … and cut at SYSCALL_TEXT_SIZE
  u8 flags;           // enum syscall_call_flags
  u8 reserved;
  u32 caller;  // callers.h; CALLER_NONE: not asked for
};
WIRE_SIZE(struct syscall_call, 128);

enum syscall_call_flags {
  SYSCALL_UNRETURNED = 1,  // the thread ended inside the call: no latency, no return value
  SYSCALL_LATE = 2,        // its number was first seen after the discovery phase
  SYSCALL_UNTIMED = 4,     // its exit had no hook, or none yet: no latency, no return value
  SYSCALL_REFUSED = 8,   // seccomp or a tracer answered it: it never began and has no latency. With
                         // SYSCALL_UNRETURNED its thread was killed for it
  SYSCALL_TRAPPED = 16,  // … with SIGSYS: no return value
};

#define SYSCALL_ERRNOS 6

struct errno_count {
  u32 code;  // positive errno; 0: free
  u32 count;
};

// The in-kernel aggregate: one thread's (or, without --by, one CPU's) calls of one number. tid is 0
// if the cell belongs to a CPU.
struct syscall_cell {
  struct event_header header;
  u64 errors;      // return values -1 … -4095
  u64 unreturned;  // the thread ended inside the call
  u32 nr;
  u16 abi;  // enum syscall_abi
  u8 late;  // first seen after the discovery phase
  u8 reserved;
  u64 untimed;                                // calls whose exit had no hook, or none yet
  struct errno_count errnos[SYSCALL_ERRNOS];  // the first errno values seen; `errors` counts all
  struct latency_histogram latency;
  u32 caller;   // callers.h; CALLER_NONE: not asked for
  u32 failed;   // of `unreturned`: the thread ended with an exit status that is not 0
  u64 refused;  // calls that seccomp or a tracer answered: they never began
  struct process_origin origin;  // of a thread's cell
};
WIRE_SIZE(struct syscall_cell, 48 + 32 + 48 + 16 + 48 + sizeof(struct latency_histogram));

enum syscall_open_flags {
  SYSCALL_OLDER = 1,  // the call began before the session: age_ns is a lower bound
};

// A call still open at the end of the session, which is header.time_ns.
struct syscall_open {
  struct event_header header;
  u64 age_ns;
  u32 nr;
  u16 abi;
  u16 flags;  // enum syscall_open_flags
};
WIRE_SIZE(struct syscall_open, 64);

// SPDX-License-Identifier: GPL-2.0
// The caller of each system call: types shared by BPF programs and user space. User space unwinds a
// copy of a thread's stack and gives the kernel a rule for each frame: how to find the caller's
// frame, and the number of the function's name. The kernel then unwinds stacks of known frames
// itself, and counts.
#pragma once

#include "bpf/span.h"

// Values of thread_state.caller, syscall_cell.caller and syscall_call.caller: a number to which
// user space has given the name of a library and a function, or CALLER_PENDING and the number of a
// caller_stack that user space has yet to unwind.
#define CALLER_NONE 0u     // not asked for
#define CALLER_UNKNOWN 1u  // "[unknown]"
#define CALLER_FIRST 2u
#define CALLER_BY_CALL 0x3fffffffu  // in rules: the name belongs to the call site of the frame
#define CALLER_PENDING 0x80000000u
#define CALLER_SHARED 0x40000000u  // … the caller_stack of an earlier, similar call; see below

#define CALLER_DEPTH 48  // frames that the kernel unwinds; deeper stacks are copied each time

enum frame_rule_flags {
  FRAME_BOTTOM = 1,       // the function in which the thread began
  FRAME_CFA_RBP = 2,      // the caller's stack pointer is rbp + cfa_offset, else rsp + cfa_offset
  FRAME_SAVED_RBP = 4,    // the caller's rbp is at its stack pointer + rbp_offset, else unchanged
  FRAME_PROGRAM = 8,      // the program's own code, which called into a library
  FRAME_TRAMPOLINE = 16,  // the trampoline of a signal handler, which has no caller
  FRAME_LOST = 32,        // no unwind information
};

// The code at `pc`, in an address space between two changes of its code.
struct frame_key {
  u64 pc;
  u32 space;
  u32 is_return;  // 1: `pc` is a return address; FRAME_CALL_SITE: likewise, for CALLER_BY_CALL
};
WIRE_SIZE(struct frame_key, 16);

#define FRAME_CALL_SITE 2

struct frame_rule {
  s32 cfa_offset;  // to the caller's stack pointer; the return address is right below
  s32 rbp_offset;
  u32 caller;  // number of the name of this frame
  u32 flags;   // enum frame_rule_flags
#ifdef __cplusplus
  bool operator==(const frame_rule&) const = default;
  /// False if the unwind information of the frame is more than a rule can express.
  bool says_something() const { return cfa_offset != 0 || flags != 0; }
#endif
};
WIRE_SIZE(struct frame_rule, 16);

// A stack that the kernel could not unwind, at the entry of the call. Followed by struct
// user_registers and `user_bytes` of user memory from registers.rsp - USER_RED_ZONE upwards.
struct caller_stack {
  struct event_header header;
  u64 start_code;  // bounds of the program's own code
  u64 end_code;
  u32 number;  // CALLER_PENDING | number of the copied stack, counted from 0
  u32 space;
  u32 user_bytes;
  u32 reserved;
};
WIRE_SIZE(struct caller_stack, 80);

// While the ring buffer is more than half full, calls share one copy of a stack if this many bytes
// of their stacks from rsp upwards are equal. User space uses a shared copy only if the caller is
// found within these bytes.
#define CALLER_SHARED_BYTES 1024

// A process between two changes of its code.
struct code_space {
  u64 leader_start_ns;  // a process id alone may be reused
  u64 exec_id;
  u32 space;
  u32 reserved;
};

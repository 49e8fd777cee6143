// SPDX-License-Identifier: GPL-2.0
// Who caused a call: what the kernel side and user space say to each other. User space unwinds a
// copy of a thread's stack and tells the kernel, for each frame it has learned of, where its caller
// is and what it is called. From then on the kernel finds its way up stacks of known frames itself,
// and counts.
#pragma once

#include "bpf/span.h"

// What stands in thread_state.caller, syscall_cell.caller and syscall_call.caller: a number that
// user space has given a name of library and function, or CALLER_PENDING and the number of a
// caller_stack that it will have to read first.
#define CALLER_NONE 0u     // not asked for
#define CALLER_UNKNOWN 1u  // "[unknown]"
#define CALLER_FIRST 2u
#define CALLER_BY_CALL 0x3fffffffu  // in rules: the frame's name is that which its call site has
#define CALLER_PENDING 0x80000000u
#define CALLER_SHARED 0x40000000u  // … that of an earlier call which looked the same, see below

#define CALLER_DEPTH 48  // frames that the kernel follows; deeper stacks are copied each time

enum frame_rule_flags {
  FRAME_BOTTOM = 1,       // the thread began here
  FRAME_CFA_RBP = 2,      // the caller's stack pointer is rbp + cfa_offset, else rsp + cfa_offset
  FRAME_SAVED_RBP = 4,    // the caller's rbp is where that is + rbp_offset, else unchanged
  FRAME_PROGRAM = 8,      // code that the program has made: who called into a library
  FRAME_TRAMPOLINE = 16,  // of a signal handler: nobody called it
  FRAME_LOST = 32,        // nobody says where its caller is
};

// The code at `pc`, in an address space as it was between two changes of code.
struct frame_key {
  u64 pc;
  u32 space;
  u32 is_return;  // 1: a return address; FRAME_CALL_SITE: that, for what the call there names
};
WIRE_SIZE(struct frame_key, 16);

#define FRAME_CALL_SITE 2

struct frame_rule {
  s32 cfa_offset;  // the return address is right below
  s32 rbp_offset;
  u32 caller;  // what this frame is called
  u32 flags;   // enum frame_rule_flags
#ifdef __cplusplus
  bool operator==(const frame_rule&) const = default;
  /// False where the way up is more than this can say.
  bool says_something() const { return cfa_offset != 0 || flags != 0; }
#endif
};
WIRE_SIZE(struct frame_rule, 16);

// A stack that the kernel could not follow, at the call's entry. Behind it struct user_registers
// and `user_bytes` of user memory from registers.rsp - USER_RED_ZONE upwards.
struct caller_stack {
  struct event_header header;
  u64 start_code;  // the program's own code, …
  u64 end_code;    // … up to here
  u32 number;      // CALLER_PENDING | a number that grows
  u32 space;
  u32 user_bytes;
  u32 reserved;
};
WIRE_SIZE(struct caller_stack, 80);

// Calls whose stacks agree in this many bytes from rsp upwards share one copy while there is little
// room. Whether that says who caused them depends on how far up that is: user space sees it.
#define CALLER_SHARED_BYTES 1024

// A process between two changes of its code.
struct code_space {
  u64 leader_start_ns;  // a process id alone may come again
  u64 exec_id;
  u32 space;
  u32 reserved;
};

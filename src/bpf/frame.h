// SPDX-License-Identifier: GPL-2.0
// Resolved frames of the stacks in a recording. Written by user space.
#pragma once

#include "bpf/wire.h"

enum frame_flags {
  FRAME_KERNEL = 1,
  FRAME_RETURN_ADDRESS = 2,  // of the kernel; elsewhere the same address may be an instruction
  FRAME_INLINED = 4,         // into the next frame of its stack
  FRAME_JIT = 8,             // named by the perf map of its process
  FRAME_GUESSED = 16,        // found by frame pointers
  FRAME_SIGNAL = 32,         // the trampoline of a signal handler
  FRAME_FOLLOWS_GAP = 64,    // frames may be missing before this one
};

#define FRAME_TEXT_MAX 8192  // bytes of each text

// Followed by texts without NUL: name, module, build id, source file. Precedes the first record
// that refers to the frame. Kernel stacks refer to a frame by its address, user stacks by its id.
struct frame_record {
  struct event_header header;
  u64 address;
  u64 offset;  // bytes into the function, or into the module if the function is not resolved
  u32 id;      // from 1; 0: a kernel frame
  u32 line;    // line number in the source file; 0: not known
  u16 flags;   // enum frame_flags
  u16 name_bytes;
  u16 module_bytes;
  u16 build_id_bytes;
  u16 file_bytes;
  u16 reserved[3];
};
WIRE_SIZE(struct frame_record, 88);

// The user stack of a record with SPAN_STACK_NAMED. In place of registers and memory, `user_bytes`
// bytes follow the record: this struct, `frames` ids of 4 bytes, innermost first, and a text that
// says why the stack ends.
struct named_stack {
  u32 frames;
};
WIRE_SIZE(struct named_stack, 4);

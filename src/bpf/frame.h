// SPDX-License-Identifier: GPL-2.0
// Named frames of the stacks in a recording. Written by user space, which alone knows names.
#pragma once

#include "bpf/wire.h"

enum frame_flags {
  FRAME_KERNEL = 1,
  FRAME_RETURN_ADDRESS = 2,  // of a kernel frame: the same address may be an instruction elsewhere
  FRAME_INLINED = 4,         // into the next frame of its stack
  FRAME_JIT = 8,             // named by the perf map of its process
  FRAME_GUESSED = 16,        // found by frame pointers
  FRAME_SIGNAL = 32,         // the trampoline of a signal handler
  FRAME_FOLLOWS_GAP = 64,    // frames may be missing before it
};

#define FRAME_TEXT_MAX 8192  // of each text

// Behind it the texts, without NUL: name, module, build id, source file. Comes before the first
// record that uses it. Kernel stacks use it by its address, user stacks by its id.
struct frame_record {
  struct event_header header;
  u64 address;
  u64 offset;  // into the named function; without a name into the module
  u32 id;      // from 1; 0: of the kernel
  u32 line;    // in the source file; 0: not known
  u16 flags;   // enum frame_flags
  u16 name_bytes;
  u16 module_bytes;
  u16 build_id_bytes;
  u16 file_bytes;
  u16 reserved[3];
};
WIRE_SIZE(struct frame_record, 88);

// What SPAN_STACK_NAMED says of a span: in place of registers and memory there are `user_bytes`
// with this in front, `frames` ids of 4 bytes, innermost first, and why the stack ends, as text.
struct named_stack {
  u32 frames;
};
WIRE_SIZE(struct named_stack, 4);

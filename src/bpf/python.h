// SPDX-License-Identifier: GPL-2.0
// Frames of CPython's interpreter: types shared by BPF programs and user space. User space finds
// the interpreter of a process and its layout; BPF programs follow the frames of a thread at the
// moment at which they copy its stack; user space reads the names of the frames' code.
#pragma once

#include "bpf/wire.h"

#define PYTHON_FRAMES 48   // frames of a stack; more are cut off
#define PYTHON_THREADS 64  // threads that are looked through for the running one
#define PYTHON_RUNTIMES 2048

// A program in memory. It changes with each execve(), and a fork keeps it, as it keeps the memory.
struct python_program {
  u64 start_code;
  u64 end_code;
  u64 start_stack;
};
WIRE_SIZE(struct python_program, 24);

// The interpreter of a program. Offsets are bytes into CPython's structs.
struct python_runtime {
  u64 thread_key;   // address of the pthread key of thread states; 0: not known
  u64 interpreter;  // address of the pointer to the first interpreter; 0: not known
  u16 main_thread;  // interpreter: main thread's state; 0: not known
  u16 threads;      // interpreter: newest thread's state
  u16 next_thread;  // thread state
  u16 thread_id;    // thread state: pthread_self()
  u16 current;      // thread state: current frame or, with `nested`, what points to it
  u16 nested;       // there: current frame; PYTHON_DIRECT: `current` is the frame
  u16 code;         // frame
  u16 previous;     // frame
  u16 instruction;  // frame
  u16 owner;        // frame: byte
  u16 entry;        // frame: byte, 1: the first of a call of the interpreter; 0: no such field
  u16 qualname;     // code
  u16 shim_owner;   // owners from here on mark the first frame of a call of the interpreter
  u16 reserved[3];
};
WIRE_SIZE(struct python_runtime, 48);

#define PYTHON_DIRECT 0xffff
#define PYTHON_ENTRY 1u  // in python_frame.code: the call of the interpreter began here

struct python_frame {
  u64 code;  // address of the code object, and PYTHON_ENTRY; without an address: no function
  u64 instruction;
  u64 qualname;  // address of the code's name, which proves that the code is still the same; or 0
};
WIRE_SIZE(struct python_frame, 24);

enum python_stack_flags {
  PYTHON_STACK_CUT = 1,  // there are more frames, or the next one could not be read
};

// With SPAN_HAS_PYTHON, behind the memory of the user stack: `frames` frames, innermost first.
struct python_stack {
  struct python_program program;
  u32 pid;
  u16 frames;
  u16 flags;  // enum python_stack_flags
};
WIRE_SIZE(struct python_stack, 32);

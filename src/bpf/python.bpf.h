/* SPDX-License-Identifier: GPL-2.0 */
/* Frames of CPython's interpreter in the running thread. */
#pragma once

#include <stddef.h>

#include "bpf/compat.bpf.h"
#include "bpf/python_runtimes.bpf.h"
#include "bpf/span.h"

struct python_scratch {
  struct python_stack fixed;
  struct python_frame frames[PYTHON_FRAMES];
};

static __always_inline bool read_user_word(u64* to, u64 from) {
  return !bpf_probe_read_user(to, sizeof(*to), (void*)from);
}

/* glibc, x86-64: a thread's first 32 values, each behind a number of 8 bytes. */
#define THREAD_VALUES 0x310
#define THREAD_VALUES_MAX 32

static __always_inline u64 python_thread_by_key(const struct python_runtime* of, u64 thread) {
  u32 key = 0;
  u64 state = 0, id = 0;
  if (!of->thread_key || bpf_probe_read_user(&key, sizeof(key), (void*)of->thread_key)) return 0;
  if (key >= THREAD_VALUES_MAX || !read_user_word(&state, thread + THREAD_VALUES + key * 16 + 8))
    return 0;
  return read_user_word(&id, state + of->thread_id) && id == thread ? state : 0;
}

static __always_inline u64 python_thread_in_list(const struct python_runtime* of, u64 thread) {
  u64 interpreter = 0, state = 0, id = 0;
  if (!of->interpreter || !read_user_word(&interpreter, of->interpreter)) return 0;
  if (of->main_thread && read_user_word(&state, interpreter + of->main_thread) &&
      read_user_word(&id, state + of->thread_id) && id == thread)
    return state;
  if (!read_user_word(&state, interpreter + of->threads)) return 0;
  for (u32 i = 0; i < PYTHON_THREADS && state; i++) {
    if (!read_user_word(&id, state + of->thread_id)) return 0;
    if (id == thread) return state;
    if (!read_user_word(&state, state + of->next_thread)) return 0;
  }
  return 0;
}

/* The address of the interpreter's current frame; 0: none. */
static __always_inline u64 current_python_frame(const struct python_runtime* of, u64 thread) {
  u64 frame = 0, state = python_thread_by_key(of, thread);
  if (!state) state = python_thread_in_list(of, thread);
  if (!state || !read_user_word(&frame, state + of->current)) return 0;
  if (of->nested != PYTHON_DIRECT && !read_user_word(&frame, frame + of->nested)) return 0;
  return frame;
}

/* Reads the frame at `*at`, and sets `*at` to the address of its caller's. Not static: the verifier
 * checks the reads once, not for each frame. */
__noinline bool read_python_frame(const struct python_runtime* of, u64* at,
                                  struct python_frame* to) {
  u8 owner = 0, entry = 0;
  if (!of || !at || !to) return false;
  u64 frame = *at;
  if (!read_user_word(at, frame + of->previous)) return false;
  if (bpf_probe_read_user(&owner, 1, (void*)(frame + of->owner))) return false;
  if (owner >= of->shim_owner) {
    to->code = PYTHON_ENTRY;
    to->instruction = to->qualname = 0;
    return true;
  }
  if (!read_user_word(&to->code, frame + of->code)) return false;
  if (!read_user_word(&to->instruction, frame + of->instruction)) return false;
  if (of->entry && bpf_probe_read_user(&entry, 1, (void*)(frame + of->entry))) return false;
  to->code &= ~7ull; /* tags of references */
  if (!read_user_word(&to->qualname, to->code + of->qualname)) to->qualname = 0;
  if (entry) to->code |= PYTHON_ENTRY;
  return true;
}

/* Follows the frames of the running thread. Not static: see read_python_frame(). */
__noinline int follow_python(struct python_scratch* to) {
  if (!to) return 0;
  to->fixed.frames = to->fixed.flags = 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct mm_struct* mm = BPF_CORE_READ(task, mm); /* by a helper: see runs_for_target() */
  if (!mm || !bpf_core_field_exists(task->thread.fsbase)) return 0;
  struct python_program program = {.start_code = BPF_CORE_READ(mm, start_code),
                                   .end_code = BPF_CORE_READ(mm, end_code),
                                   .start_stack = BPF_CORE_READ(mm, start_stack)};
  const struct python_runtime* of = bpf_map_lookup_elem(&python_runtimes, &program);
  if (!of) return 0;
  to->fixed.program = program;
  to->fixed.pid = task->tgid;
  u64 frame = current_python_frame(of, task->thread.fsbase);
  for (u32 i = 0; i < PYTHON_FRAMES && frame; i++) {
    if (!read_python_frame(of, &frame, &to->frames[i])) break;
    to->fixed.frames = i + 1;
  }
  if (frame) to->fixed.flags = PYTHON_STACK_CUT;
  return 0;
}

/* Appends Python's frames of the running thread to the `user_bytes` of user memory at `to`, which
 * has room for PYTHON_ROOM more. Returns their size. `scratch` is memory for them. The number is
 * read from memory: on paths that cannot be taken, some older verifiers know bounds of it that
 * contradict one another, and refuse an address that it is added to. */
static __always_inline u32 append_python(u8* to, const u16* user_bytes, u32 max_bytes,
                                         struct python_scratch* scratch, u16* flags) {
  follow_python(scratch);
  u32 bytes = *(const volatile u16*)user_bytes;
  u32 size = sizeof(scratch->fixed) + scratch->fixed.frames * sizeof(struct python_frame);
  barrier_var(bytes);
  barrier_var(size);
  if (size <= sizeof(scratch->fixed) || size > sizeof(*scratch) || bytes > max_bytes) return 0;
  if (bpf_probe_read_kernel(to + bytes, size, scratch)) return 0;
  *flags |= SPAN_HAS_PYTHON;
  return size;
}

#define PYTHON_ROOM sizeof(struct python_scratch)

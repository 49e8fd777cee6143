/* SPDX-License-Identifier: GPL-2.0 */
/* A record for every call, with its string arguments, into the ring of this CPU. */
#pragma once

#include "bpf/compat.bpf.h"
#include "probes/syscalls/config.bpf.h"

/* Number and ABI of the call that `task` has entered with `id`. */
static __always_inline u16 split_call_id(struct task_struct* task, s64 id, u32* nr) {
  *nr = (u32)id;
  if (in_compat_syscall(task)) return ABI_COMPAT;
  if (id < 0 || !(*nr & X32_SYSCALL_BIT)) return ABI_NATIVE;
  *nr &= ~X32_SYSCALL_BIT;
  return ABI_X32;
}

/* Whether `task` sleeps in a call that began before the thread was adopted: its entry registers are
 * still there. A thread that sleeps in a page fault has the number -1. */
static __always_inline bool in_older_call(struct task_struct* task, struct thread_state* state,
                                          s64* id) {
  if (state->fresh != FRESH_ADOPTED || !task->__state) return false;
  if (is_exiting(task) || has_no_user_side(task)) return false;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  *id = regs->orig_ax;
  return *id >= 0;
}

static __always_inline void copy_arguments(struct thread_state* state, struct pt_regs* regs,
                                           u16 abi) {
  u64* arguments = state->arguments;
  if (abi == ABI_COMPAT) {
    arguments[0] = (u32)regs->bx;
    arguments[1] = (u32)regs->cx;
    arguments[2] = (u32)regs->dx;
    arguments[3] = (u32)regs->si;
    arguments[4] = (u32)regs->di;
    arguments[5] = (u32)regs->bp;
  } else {
    copy_native_arguments(arguments, regs);
  }
}

/* String arguments, read at entry: another thread may change them later, and the strings of execve
 * are gone at its end. */
struct call_text {
  u32 size;
  u8 arguments; /* bit i: argument i was read */
  u8 truncated;
  u8 pending; /* bit i: argument i was not in memory at entry; read again at the end */
  u8 reserved;
  char text[SYSCALL_TEXTS * SYSCALL_TEXT_SIZE];
};

THREAD_STORAGE(thread_text, LRU_HASH, struct call_text);
static const struct call_text no_text;

static __always_inline void read_texts(struct call_text* text, const u64* arguments, u8 mask) {
  for (u32 i = 0; i < SYSCALL_ARGUMENTS; i++) {
    if (!(mask >> i & 1) || !arguments[i]) continue; /* a null pointer is no string */
    u32 at = text->size;
    if (at > SYSCALL_TEXT_SIZE) return;
    long length =
        bpf_probe_read_user_str(text->text + at, SYSCALL_TEXT_SIZE, (const void*)arguments[i]);
    if (length <= 0 || length > SYSCALL_TEXT_SIZE) {
      text->pending |= 1 << i;
      continue;
    }
    text->arguments |= 1 << i;
    if (length == SYSCALL_TEXT_SIZE) text->truncated |= 1 << i;
    text->size = at + length;
  }
}

static __always_inline void remember_arguments(struct task_struct* task,
                                               struct thread_state* state) {
  u8 mask = string_arguments(state->abi, state->nr);
  if (!mask) return;
  struct call_text* text = make_of_thread(thread_text, task, &no_text);
  if (!text) return;
  text->size = 0;
  text->arguments = text->truncated = text->pending = 0;
  read_texts(text, state->arguments, mask);
}

/* How long the open call has taken. The clocks of two CPUs may differ slightly while the clock is
 * adjusted: a call that ends before it began took no time. */
static __always_inline u64 ns_since_entry(const struct thread_state* state, u64 now_ns) {
  return ns_between(state->enter_ns, now_ns);
}

static __always_inline void fill_call(struct syscall_call* call, struct task_struct* task,
                                      struct thread_state* state, u64 now_ns, u64 latency_ns,
                                      s64 ret, u8 flags) {
  fill_header(&call->header, task, state, now_ns);
  call->header.kind = RECORD_SYSCALL_CALL;
  call->header.size = sizeof(*call);
  call->latency_ns = latency_ns;
  call->ret = ret;
  call->nr = state->nr;
  call->abi = state->abi;
  call->text_size = 0;
  call->text_arguments = call->text_truncated = 0;
  call->flags = flags;
  call->reserved = 0;
  call->caller = want_callers ? state->caller : 0;
  __builtin_memcpy(call->arguments, state->arguments, sizeof(call->arguments));
}

/* A reservation's size must be a constant: two sizes, and the header says how much is used. */
struct call_with_text {
  struct syscall_call call;
  char text[SYSCALL_TEXTS * SYSCALL_TEXT_SIZE];
};
struct call_with_short_text {
  struct syscall_call call;
  char text[64];
};

static __always_inline void describe_text(struct syscall_call* call, const struct call_text* text) {
  call->header.size += text->size;
  call->text_size = text->size;
  call->text_arguments = text->arguments;
  call->text_truncated = text->truncated;
}

/* Whether the call replaces its caller's program. (x32 numbers of such calls have no strings.) */
static __always_inline bool replaces_program(u16 abi, u32 nr) {
  if (abi == ABI_NATIVE) return nr == EXECVE || nr == EXECVEAT;
  return abi == ABI_COMPAT && (nr == COMPAT_EXECVE || nr == COMPAT_EXECVEAT);
}

/* Whether the call has replaced the program: its registers and its arguments' memory are gone. */
static __always_inline bool has_changed_memory(const struct thread_state* state, s64 ret) {
  return ret == 0 && replaces_program(state->abi, state->nr);
}

/* Reads the strings again that were not in memory when the call began, if the call may have brought
 * them in. */
static __always_inline void read_pending_texts(struct call_text* text, struct thread_state* state,
                                               s64 ret, u8 flags) {
  if (!(flags & (SYSCALL_UNRETURNED | SYSCALL_UNTIMED)) && !has_changed_memory(state, ret)) {
    /* Strings are in the order of arguments: read all of them again. */
    u8 mask = text->pending | text->arguments;
    text->size = 0;
    text->arguments = text->truncated = text->pending = 0;
    read_texts(text, state->arguments, mask);
  }
  if (text->pending) count(COUNTER_TEXT_UNREAD, 1);
}

static __noinline int emit_call_with_text(struct task_struct* task, struct thread_state* state,
                                          u64 now_ns, s64 ret, u8 flags) {
  u64 latency_ns = ns_since_entry(state, now_ns); /* again: five parameters at most */
  void* ring = this_cpu_ring();
  struct call_text* text = find_of_thread(thread_text, task);
  if (!ring) return -1;
  if (!text) {
    count(COUNTER_TEXT_UNREAD, 1);
    return -1;
  }
  if (text->pending) read_pending_texts(text, state, ret, flags);
  if (text->size <= 64) {
    struct call_with_short_text* record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
    if (!record) goto full;
    fill_call(&record->call, task, state, now_ns, latency_ns, ret, flags);
    describe_text(&record->call, text);
    __builtin_memcpy(record->text, text->text, sizeof(record->text));
    bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
    return 0;
  }
  struct call_with_text* record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
  if (!record) goto full;
  fill_call(&record->call, task, state, now_ns, latency_ns, ret, flags);
  describe_text(&record->call, text);
  bpf_probe_read_kernel(record->text, sizeof(record->text), text->text);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
full:
  count(COUNTER_RING_FULL, 1);
  return 0;
}

static __always_inline void emit_call(struct task_struct* task, struct thread_state* state,
                                      u64 now_ns, u64 latency_ns, s64 ret, u8 flags) {
  if (string_arguments(state->abi, state->nr) &&
      !emit_call_with_text(task, state, now_ns, ret, flags))
    return;
  void* ring = this_cpu_ring();
  struct syscall_call* call = ring ? bpf_ringbuf_reserve(ring, sizeof(*call), 0) : 0;
  if (!call) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_call(call, task, state, now_ns, latency_ns, ret, flags);
  bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
}

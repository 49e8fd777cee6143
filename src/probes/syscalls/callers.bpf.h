/* SPDX-License-Identifier: GPL-2.0 */
/* The library function that caused a call: `--by caller`. It is found at the call's entry, because
 * the stack is there then, whatever the call does (execve, exit). Frames that user space has
 * explained are followed here; a stack with any other frame is copied into the ring. */
#pragma once

#include "bpf/callers.h"
#include "probes/syscalls/stalls.bpf.h"

u8 calibrating;    /* Overdue measures itself: no stack will be read */
u32 stacks_copied; /* numbers the stacks; rare enough for a shared word */
u32 spaces_known;

/* Filled by user space. A dropped entry costs another copy. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 65536);
  __type(key, struct frame_key);
  __type(value, struct frame_rule);
} frame_rules SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 16384);
  __type(key, u32);
  __type(value, struct code_space);
} code_spaces SEC(".maps");

/* Stacks that are on their way to user space, or have been: a loop makes thousands of calls before
 * the first one is explained. Used only when the ring fills up, because a call that shares a stack
 * may share too little. */
struct stack_key {
  u64 ip;
  u64 sp;
  u64 hash;
  u32 space;
  u32 reserved;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct stack_key);
  __type(value, u32);
} stacks_sent SEC(".maps");

struct caller_scratch {
  struct caller_stack record;
  struct user_registers registers;
  u8 stack[USER_STACK_MAX + 4096];
};

/* One per CPU, like stall_scratch. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct caller_scratch);
} caller_scratch SEC(".maps");

static __always_inline u32 begin_space(struct task_struct* task, u32 pid) {
  struct code_space made = {.leader_start_ns = task->group_leader->start_time,
                            .exec_id = task->self_exec_id};
  made.space = __sync_fetch_and_add(&spaces_known, 1) + 1;
  if (bpf_map_update_elem(&code_spaces, &pid, &made, BPF_ANY)) return 0;
  return made.space;
}

/* The number of the process's address space, unique to its present code; 0: none. */
static __always_inline u32 space_of(struct task_struct* task) {
  u32 pid = task->tgid;
  struct code_space* known = bpf_map_lookup_elem(&code_spaces, &pid);
  if (known && known->exec_id == task->self_exec_id &&
      known->leader_start_ns == task->group_leader->start_time)
    return known->space;
  return begin_space(task, pid);
}

/* Whether the call that begins may replace code. Code that only goes (munmap) does no harm: nothing
 * returns to it. */
static __always_inline bool may_change_code(struct pt_regs* regs, u32 nr, u16 abi) {
  if (abi != ABI_NATIVE) return false; /* stacks of other ABIs are not read */
  switch (nr) {
    case SYS_MMAP:
    case SYS_MPROTECT:
    case SYS_PKEY_MPROTECT:
      return regs->dx & PROT_EXEC;
    case SYS_MREMAP:
      return true;
    case SYS_SHMAT:
      return regs->dx & SHM_EXEC;
    default:
      return false;
  }
}

struct user_frame {
  u64 pc, sp, bp;
};

/* Goes up one frame; false if the stack does not hold what the rule expects. */
static __always_inline bool go_up(struct user_frame* frame, const struct frame_rule* rule) {
  u64 cfa = (rule->flags & FRAME_CFA_RBP ? frame->bp : frame->sp) + (s64)rule->cfa_offset;
  u64 slot = cfa + (s64)rule->rbp_offset;
  if (cfa <= frame->sp || bpf_probe_read_user(&frame->pc, 8, (void*)(cfa - 8))) return false;
  /* Below the stack there is nothing left: an epilogue has popped it. */
  if (rule->flags & FRAME_SAVED_RBP && slot >= frame->sp &&
      bpf_probe_read_user(&frame->bp, 8, (void*)slot))
    return false;
  frame->sp = cfa;
  return true;
}

/* The name of a frame that is named by the call that led to it; `pc` is behind that call. */
static __always_inline u32 called_before(u64 pc, u32 space) {
  struct frame_key key = {.pc = pc, .space = space, .is_return = FRAME_CALL_SITE};
  struct frame_rule* rule = bpf_map_lookup_elem(&frame_rules, &key);
  return rule ? rule->caller : CALLER_NONE;
}

/* The caller, chosen as in pick_caller() (analysis/caller.h), or CALLER_NONE: the stack has to be
 * copied. */
static __noinline u32 follow_stack(struct pt_regs* at, u32 space, u64 start_code, u64 code_bytes) {
  if (!at) return CALLER_NONE;
  struct user_frame frame = {.pc = at->ip, .sp = at->sp, .bp = at->bp};
  bool from_program = frame.pc - start_code < code_bytes;
  u32 inner = CALLER_NONE;
  for (u32 depth = 0; depth < CALLER_DEPTH; depth++) {
    bool in_program = frame.pc - start_code < code_bytes;
    if (depth > 0 && in_program && !from_program)
      return inner == CALLER_BY_CALL ? called_before(frame.pc, space) : inner;
    if (depth == 1 && from_program && !in_program) return inner;
    struct frame_key key = {.pc = frame.pc, .space = space, .is_return = depth > 0};
    struct frame_rule* rule = bpf_map_lookup_elem(&frame_rules, &key);
    if (!rule) return CALLER_NONE;
    if (depth == 1 && from_program) return rule->caller;
    if (depth > 0 && rule->flags & (FRAME_PROGRAM | FRAME_TRAMPOLINE)) return inner;
    inner = rule->caller;
    if (rule->flags & (FRAME_BOTTOM | FRAME_TRAMPOLINE)) return inner;
    if (rule->flags & FRAME_LOST) return CALLER_UNKNOWN;
    if (!go_up(&frame, rule)) return CALLER_NONE;
    if (!frame.pc) return inner;
  }
  return CALLER_NONE;
}

/* Large copies while the ring has room for them: few stacks are deep, and a burst of calls from
 * unknown places must fit. */
static __always_inline u32 copy_limit(u64 used, u64 size) {
  u32 limit = user_stack_bytes;
  u32 most = used < size / 4 ? USER_STACK_MAX : used < size / 8 * 7 ? 4096 : 2048;
  if (limit > most) limit = most;
  return limit;
}

/* Describes the part of the stack that must agree; false if the stack is shorter. */
static __always_inline bool read_key(struct pt_regs* regs, u32 space, u8* room,
                                     struct stack_key* key) {
  u64* words = (u64*)room;
  if (bpf_probe_read_user(room, CALLER_SHARED_BYTES, (void*)regs->sp)) return false;
  u64 hash = space;
  for (u32 i = 0; i < CALLER_SHARED_BYTES / 8; i++) {
    hash = (hash ^ words[i]) * 0x9e3779b97f4a7c15ull;
    hash ^= hash >> 29;
  }
  key->ip = regs->ip;
  key->sp = regs->sp;
  key->hash = hash;
  key->space = space;
  return true;
}

static __noinline u32 copy_stack(struct task_struct* task, struct thread_state* state, u32 space) {
  if (!task || !state) return CALLER_UNKNOWN;
  u32 cpu = bpf_get_smp_processor_id();
  struct caller_scratch* scratch = bpf_map_lookup_elem(&caller_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return CALLER_UNKNOWN;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct caller_stack* record = &scratch->record;
  u16 cut = 0;
  struct stack_key key = {};
  u64 used = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
  u64 size_of_ring = bpf_ringbuf_query(ring, BPF_RB_RING_SIZE);
  bool has_key = read_key(regs, space, scratch->stack, &key);
  u32* sent = has_key ? bpf_map_lookup_elem(&stacks_sent, &key) : 0;
  if (sent && used > size_of_ring / 2) return *sent | CALLER_SHARED;
  fill_header(&record->header, task, state, bpf_ktime_get_ns());
  record->header.kind = RECORD_CALLER_STACK;
  record->start_code = task->mm ? task->mm->start_code : 0;
  record->end_code = task->mm ? task->mm->end_code : 0;
  record->number = (__sync_fetch_and_add(&stacks_copied, 1) & (CALLER_SHARED - 1)) | CALLER_PENDING;
  record->space = space;
  record->reserved = 0;
  copy_registers(&scratch->registers, regs);
  record->user_bytes =
      copy_user_stack(scratch->stack, regs->sp, copy_limit(used, size_of_ring), &cut);
  u32 size = sizeof(*record) + sizeof(struct user_registers) + record->user_bytes;
  record->header.size = size;
  barrier_var(size);
  if (size > sizeof(*scratch)) return CALLER_UNKNOWN;
  if (!bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) {
    u32 number = record->number;
    if (has_key) bpf_map_update_elem(&stacks_sent, &key, &number, BPF_ANY);
    return number;
  }
  count(COUNTER_CALLERS_LOST, 1);
  return CALLER_UNKNOWN;
}

/* Finds the caller of the call that `state` begins. */
static __noinline int find_caller(struct task_struct* task, struct thread_state* state) {
  if (!task || !state) return 0;
  state->caller = CALLER_UNKNOWN;
  struct mm_struct* mm = task->mm;
  if (state->abi == ABI_COMPAT || !mm) return 0;
  u32 space = space_of(task);
  if (!space) return 0;
  u64 start_code = mm->start_code;
  u32 found = follow_stack((struct pt_regs*)bpf_task_pt_regs(task), space, start_code,
                           mm->end_code - start_code);
  if (found == CALLER_BY_CALL) found = CALLER_NONE; /* no call of the program */
  if (found == CALLER_NONE && !calibrating) found = copy_stack(task, state, space);
  state->caller = found != CALLER_NONE ? found : CALLER_UNKNOWN;
  return 0;
}

/* A call whose caller is not known yet gets a record of its own: user space will know the caller.
 * False if there is no room for the record. */
static __noinline bool emit_pending(struct task_struct* task, struct thread_state* state,
                                    u64 now_ns, s64 ret, u8 flags) {
  if (!task || !state) return false;
  if (!(state->caller & CALLER_PENDING)) return false;
  void* ring = this_cpu_ring();
  struct syscall_call* call = ring ? bpf_ringbuf_reserve(ring, sizeof(*call), 0) : 0;
  if (!call) {
    count(COUNTER_CALLERS_LOST, 1);
    state->caller = CALLER_UNKNOWN;
    return false;
  }
  fill_call(call, task, state, now_ns, ns_since_entry(state, now_ns), ret, flags);
  __builtin_memset(call->arguments, 0, sizeof(call->arguments)); /* not read */
  bpf_ringbuf_submit(call, BPF_RB_NO_WAKEUP);
  return true;
}

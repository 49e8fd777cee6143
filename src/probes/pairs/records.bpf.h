/* SPDX-License-Identifier: GPL-2.0 */
/* The records of user spans. */
#pragma once

#include "bpf/own_sums.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/user_stack.bpf.h"
#include "probes/pairs/pairs.h"

const volatile u8 is_of_ender; /* the span belongs to the thread that ends it */
const volatile u8 hides_key;   /* the key means nothing to people */
const volatile char pair_name[SPAN_TEXT_SIZE];

struct pair_scratch {
  struct span_record span;
  struct user_registers registers;
  u8 stack[USER_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
  u64 is_taken;
};

/* Several per CPU: programs at uprobes are preempted by others of their kind. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct pair_scratch);
} pair_scratch SEC(".maps");

/* What all records of spans have in common. The header is that of the thread that ended the span.
 */
static __always_inline void fill_span(struct span_record* span, const struct pair_key* key,
                                      const struct open_pair* open) {
  span->header.kind = RECORD_SPAN;
  span->header.size = sizeof(*span);
  span->latency_ns = ns_between(open->begin_ns, span->header.time_ns);
  span->subject = key->key[0];
  span->detail = key->key[1];
  span->begin_pid = open->pid;
  span->begin_tid = open->tid;
  span->span = SPAN_PAIR;
  if (hides_key) span->flags |= SPAN_KEY_HIDDEN;
  for (u32 i = 0; i < SPAN_TEXT_SIZE; i++) span->text[i] = pair_name[i];
}

static __always_inline void emit_with_last(const struct pair_key* key, const struct open_pair* open,
                                           const struct last_end* end) {
  void* ring = this_cpu_ring();
  struct span_record* span = ring ? bpf_ringbuf_reserve(ring, sizeof(*span), 0) : 0;
  if (!span) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  __builtin_memset(span, 0, sizeof(*span));
  span->header.time_ns = end->end_ns;
  span->header.cgroup_id = end->cgroup_id;
  span->header.pid = end->pid;
  span->header.tid = end->tid;
  span->header.cpu = end->cpu;
  __builtin_memcpy(span->header.comm, end->comm, COMM_SIZE);
  span->ledger = end->ledger;
  span->throttled_ns = end->throttled_ns;
  span->flags = end->flags;
  fill_span(span, key, open);
  bpf_ringbuf_submit(span, BPF_RB_NO_WAKEUP);
}

/* The ledger of the thread that ends the span, if the same thread began it. Of a span that belongs
 * to the thread that ends it, only the sums at the end are known: user space finds the parts.
 * Returns the flag of a record with these sums; 0: they are unknown. */
static __always_inline u16 read_parts(struct ledger_sums* sums, struct task_struct* task,
                                      const struct open_pair* open, u64 now_ns) {
  if (is_of_ender) return read_own_sums(task, now_ns, sums) ? SPAN_HAS_SUMS : 0;
  if (!open->has_sums || open->tid != (u32)task->pid) return 0;
  if (!read_own_sums(task, now_ns, sums)) return 0;
  subtract_sums(sums, &open->sums);
  return SPAN_HAS_LEDGER;
}

static __always_inline void fill_pair(struct span_record* span, struct task_struct* task,
                                      const struct thread_state* state, const struct pair_key* key,
                                      const struct open_pair* open, u64 now_ns) {
  __builtin_memset(span, 0, sizeof(*span));
  fill_who(&span->header, task, state ? state->cgroup_id : open->cgroup_id, now_ns);
  fill_span(span, key, open);
  struct ledger_sums sums = {};
  u16 flag = read_parts(&sums, task, open, now_ns);
  if (!flag) return;
  span->ledger = sums.parts;
  span->throttled_ns = sums.throttled_ns;
  span->flags |= flag;
}

static __always_inline struct pair_scratch* take_scratch(void) {
  for (u32 i = 0; i < PAIR_SCRATCHES; i++) {
    u32 index = bpf_get_smp_processor_id() * PAIR_SCRATCHES + i;
    struct pair_scratch* scratch = bpf_map_lookup_elem(&pair_scratch, &index);
    if (scratch && !__sync_val_compare_and_swap(&scratch->is_taken, 0, 1)) return scratch;
  }
  return 0;
}

/* At uprobes, bpf_task_pt_regs() returns the probe's own registers. */
static __always_inline u32 copy_user_side(struct pair_scratch* scratch, struct task_struct* task) {
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct span_record* span = &scratch->span;
  copy_registers(&scratch->registers, regs);
  u32 bytes = copy_user_stack(scratch->stack, regs->sp, user_stack_bytes, &span->flags);
  u32 size = sizeof(*span) + sizeof(struct user_registers) + bytes;
  span->user_bytes = bytes;
  size += append_python(scratch->stack, &span->user_bytes, USER_STACK_ROOM, &scratch->python,
                        &span->flags);
  span->flags |= SPAN_HAS_USER_STACK;
  span->header.size = size;
  return size;
}

/* Only if the same thread began the span: another thread's stack would not show its origin. */
static __always_inline bool emit_with_stack(struct task_struct* task,
                                            const struct thread_state* state,
                                            const struct pair_key* key,
                                            const struct open_pair* open, u64 now_ns) {
  if (!user_stack_bytes || open->tid != (u32)task->pid) return false;
  if (is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task)) return false;
  void* ring = this_cpu_ring();
  struct pair_scratch* scratch = ring ? take_scratch() : 0;
  if (!scratch) return false;
  fill_pair(&scratch->span, task, state, key, open, now_ns);
  u32 size = copy_user_side(scratch, task);
  barrier_var(size);
  if (size <= sizeof(*scratch) && bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP))
    count(COUNTER_RING_FULL, 1);
  __sync_fetch_and_and(&scratch->is_taken, 0);
  return true;
}

static __always_inline void emit_pair(struct task_struct* task, const struct thread_state* state,
                                      const struct pair_key* key, const struct open_pair* open,
                                      u64 now_ns) {
  if (emit_with_stack(task, state, key, open, now_ns)) return;
  void* ring = this_cpu_ring();
  struct span_record* span = ring ? bpf_ringbuf_reserve(ring, sizeof(*span), 0) : 0;
  if (!span) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_pair(span, task, state, key, open, now_ns);
  bpf_ringbuf_submit(span, BPF_RB_NO_WAKEUP);
}

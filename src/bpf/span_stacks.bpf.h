/* SPDX-License-Identifier: GPL-2.0 */
/* Records of spans with the user stack of the running thread. */
#pragma once

#include "bpf/span.bpf.h"
#include "bpf/thread_ledger.h"
#include "bpf/user_stack.bpf.h"

#define KERNEL_STACK_BYTES (KERNEL_FRAMES_MAX * 8)

struct span_scratch {
  struct span_record span;
  u8 stacks[KERNEL_STACK_BYTES + sizeof(struct user_registers) + USER_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
};

/* One per CPU: programs of a probe do not run inside each other. Not a per-CPU array, whose values
 * must be small. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct span_scratch);
} span_scratch SEC(".maps");

/* `parts`: of the span; null: not known. */
static __always_inline void fill_parts(struct span_record* span, const struct ledger_sums* parts) {
  if (!parts) return;
  span->ledger = parts->parts;
  span->throttled_ns = parts->throttled_ns;
  span->flags |= SPAN_HAS_LEDGER;
}

/* Reports the span with the user stack behind the kernel stack, of which `skipped` frames are left
 * out. Returns 0 if it reports nothing. */
static __noinline int emit_with_stacks(void* ctx, const struct ended_span* ended,
                                       const struct ledger_sums* parts, u32 skipped) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!ended || is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task)) return 0;
  u32 cpu = bpf_get_smp_processor_id();
  struct span_scratch* scratch = bpf_map_lookup_elem(&span_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return 0;
  struct span_record* span = &scratch->span;
  fill_span(span, ended);
  fill_parts(span, parts);
  long bytes = bpf_get_stack(ctx, scratch->stacks, KERNEL_STACK_BYTES, skipped);
  u32 kernel_bytes = bytes > 0 ? bytes : 0;
  barrier_var(kernel_bytes);
  if (kernel_bytes > KERNEL_STACK_BYTES) return 0;
  u8* user = scratch->stacks + kernel_bytes;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  copy_registers((struct user_registers*)user, regs);
  u32 user_bytes = copy_user_stack(user + sizeof(struct user_registers), regs->sp, user_stack_bytes,
                                   &span->flags);
  u32 size = sizeof(*span) + kernel_bytes + sizeof(struct user_registers) + user_bytes;
  span->user_bytes = user_bytes;
  size += append_python(user + sizeof(struct user_registers), &span->user_bytes, USER_STACK_ROOM,
                        &scratch->python, &span->flags);
  span->kernel_frames = kernel_bytes / 8;
  span->flags |= SPAN_HAS_USER_STACK;
  span->header.size = size;
  barrier_var(size);
  if (size > offsetof(struct span_scratch, python)) return 0;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 1;
}

/* Without stacks. */
static __noinline __attribute__((unused)) int emit_with_parts(const struct ended_span* ended,
                                                              const struct ledger_sums* parts) {
  if (summed_kinds && sum_span(ended)) return 0;
  void* ring = this_cpu_ring();
  struct span_record* span = ring && ended ? bpf_ringbuf_reserve(ring, sizeof(*span), 0) : 0;
  if (!span) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_span(span, ended);
  fill_parts(span, parts);
  bpf_ringbuf_submit(span, BPF_RB_NO_WAKEUP);
  return 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* A call that took as long as its threshold: the call's own record, and behind it a span_record
 * with what the thread did meanwhile and where it was called from. Nothing of it is paid by a call
 * that is quick, but the ledger's sums at its begin. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "probes/syscalls/calls.bpf.h"

const volatile u8 want_stalls;
const volatile u32 user_stack_bytes; /* how much of the user stack to copy; 0: none */

/* Per native call; 0: the session's; THRESHOLD_IDLE: it waits for work, and is only counted. User
 * space may change it while we run. */
u64 call_threshold_ns[SYSCALL_TABLE_SIZE];

struct stall_scratch {
  struct span_record span;
  struct user_registers registers;
  u8 stack[USER_STACK_MAX + 4096];
};

/* By CPU: programs at system calls do not preempt each other. Not a per-CPU array, whose values
 * must be small. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct stall_scratch);
} stall_scratch SEC(".maps");

static __always_inline void note_ledger_at_call(struct task_struct* task, u64 now_ns) {
  struct thread_ledger* ledger = bpf_task_storage_get(&ledgers, task, 0, 0);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (cpu) cpu->calls++;
  if (ledger && cpu) read_ledger(ledger, cpu, now_ns, &ledger->at_call);
}

static __always_inline bool is_stall(const struct thread_state* state, u64 latency_ns) {
  u64 threshold_ns = 0;
  if (state->abi == ABI_NATIVE && state->nr < SYSCALL_TABLE_SIZE)
    threshold_ns = call_threshold_ns[state->nr & (SYSCALL_TABLE_SIZE - 1)];
  u64 general_ns = control.threshold_ns[SPAN_SYSCALL];
  if (threshold_ns == THRESHOLD_IDLE) {
    if (general_ns && latency_ns >= general_ns) count(COUNTER_IDLE, 1);
    return false;
  }
  if (!threshold_ns) threshold_ns = general_ns;
  return threshold_ns && latency_ns >= threshold_ns;
}

static __always_inline void copy_registers(struct user_registers* to, struct pt_regs* regs) {
  to->rax = regs->ax;
  to->rdx = regs->dx;
  to->rcx = regs->cx;
  to->rbx = regs->bx;
  to->rsi = regs->si;
  to->rdi = regs->di;
  to->rbp = regs->bp;
  to->rsp = regs->sp;
  to->r8 = regs->r8;
  to->r9 = regs->r9;
  to->r10 = regs->r10;
  to->r11 = regs->r11;
  to->r12 = regs->r12;
  to->r13 = regs->r13;
  to->r14 = regs->r14;
  to->r15 = regs->r15;
  to->rip = regs->ip;
}

/* Page by page: a read that crosses the end of the mapping would fail whole. */
static __always_inline u32 copy_user_stack(u8* to, u64 rsp, u32 limit, u16* flags) {
  u32 copied = USER_RED_ZONE;
  bpf_probe_read_user(to, USER_RED_ZONE, (void*)(rsp - USER_RED_ZONE)); /* zeroes where it fails */
  for (u32 i = 0; i < USER_STACK_MAX / 4096 + 1; i++) {
    u64 from = rsp - USER_RED_ZONE + copied;
    u32 chunk = 4096 - (from & 4095);
    if (copied >= limit || copied > USER_STACK_MAX) {
      *flags |= SPAN_STACK_CUT;
      break;
    }
    if (chunk > limit - copied) chunk = limit - copied;
    barrier_var(chunk);
    if (chunk > 4096 || bpf_probe_read_user(to + copied, chunk, (void*)from)) break;
    copied += chunk;
  }
  return copied;
}

static __always_inline void copy_user_side(struct stall_scratch* scratch, struct pt_regs* regs) {
  if (!user_stack_bytes) return;
  copy_registers(&scratch->registers, regs);
  scratch->span.flags |= SPAN_HAS_USER_STACK;
  scratch->span.user_bytes =
      copy_user_stack(scratch->stack, regs->sp, user_stack_bytes, &scratch->span.flags);
  scratch->span.header.size += sizeof(struct user_registers) + scratch->span.user_bytes;
}

static __always_inline void fill_span(struct span_record* span, struct task_struct* task,
                                      struct thread_state* state, u64 now_ns) {
  __builtin_memset(span, 0, sizeof(*span));
  fill_header(&span->header, task, state, now_ns);
  span->header.kind = RECORD_SPAN;
  span->header.size = sizeof(*span);
  span->span = SPAN_SYSCALL;
  span->latency_ns = ns_since_entry(state, now_ns);
  span->subject = state->nr;
  struct thread_ledger* ledger = bpf_task_storage_get(&ledgers, task, 0, 0);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!ledger || !cpu) return;
  read_ledger(ledger, cpu, now_ns, &span->ledger);
  subtract_parts(&span->ledger, &ledger->at_call);
  span->flags |= SPAN_HAS_LEDGER;
}

static __noinline int emit_explanation(struct task_struct* task, struct thread_state* state,
                                       u64 now_ns, u8 call_flags) {
  if (!task || !state) return 0;
  u32 cpu = bpf_get_smp_processor_id();
  struct stall_scratch* scratch = bpf_map_lookup_elem(&stall_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return 0;
  fill_span(&scratch->span, task, state, now_ns);
  if (!(call_flags & SYSCALL_UNRETURNED) && state->abi != ABI_COMPAT)
    copy_user_side(scratch, (struct pt_regs*)bpf_task_pt_regs(task));
  u32 size = scratch->span.header.size;
  barrier_var(size);
  if (size > sizeof(*scratch)) return 0;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* What `--calls` remembers at a call's entry is read only now: few calls come here. Of a call that
 * did not return, or to where it was called from, there is nothing to read any more: its strings
 * are null pointers then. */
static __always_inline void gather_arguments(struct task_struct* task, struct thread_state* state,
                                             s64 ret, u8 flags) {
  __builtin_memset(state->arguments, 0, sizeof(state->arguments));
  if (!(flags & SYSCALL_UNRETURNED) && !has_changed_memory(state, ret))
    copy_arguments(state, (struct pt_regs*)bpf_task_pt_regs(task), state->abi);
  remember_arguments(task, state);
}

static __noinline int emit_stall(struct task_struct* task, struct thread_state* state, u64 now_ns,
                                 s64 ret, u8 flags) {
  if (!task || !state) return 0;
  if (!want_calls) {
    gather_arguments(task, state, ret, flags);
    emit_call(task, state, now_ns, ns_since_entry(state, now_ns), ret, flags);
  }
  return emit_explanation(task, state, now_ns, flags);
}

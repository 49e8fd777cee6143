/* SPDX-License-Identifier: GPL-2.0 */
/* Where threads run: a CPU's tick samples the thread that it interrupts. The tick comes anyway, and
 * an idle CPU has none. Threads may take turns in step with the tick. So a thread that an interrupt
 * takes out of its program, after some time there, is sampled too. (A thread that is preempted on
 * its way out of a call is not: threads are preempted there more often than elsewhere.) */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/sched.h"
#include "bpf/user_stack.bpf.h"
#include "bpf/user_stack.h"

const volatile u32 own_pid;      /* Overdue itself is neither recorded nor sampled */
const volatile u32 sample_bytes; /* bytes of a user stack to copy; 0: no samples */

#define SAMPLE_STACK_ROOM (SAMPLE_STACK_MAX + 4096) /* what copy_pages() writes to */

struct sample_scratch {
  struct cpu_sample fixed;
  struct user_registers registers;
  u8 stack[SAMPLE_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
};

/* One per CPU: ticks and wake-ups do not interrupt one another. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct sample_scratch);
} sample_scratch SEC(".maps");

static __always_inline u32 fill_user_side(struct sample_scratch* scratch,
                                          struct task_struct* task) {
  struct cpu_sample* fixed = &scratch->fixed;
  if (is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task)) return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  u16 flags = SPAN_HAS_USER_STACK;
  copy_registers(&scratch->registers, regs);
  u32 bytes = copy_pages(scratch->stack, regs->sp, sample_bytes, SAMPLE_STACK_MAX, &flags);
  fixed->user_bytes = bytes;
  u32 python = append_python(scratch->stack, &fixed->user_bytes, SAMPLE_STACK_ROOM,
                             &scratch->python, &flags);
  fixed->flags = flags;
  return sizeof(struct user_registers) + bytes + python;
}

#define SAMPLED_AFTER_NS 1000000

/* Samples the running thread. */
static __noinline int sample_thread(void* ctx, u64 time_ns, u16 reason) {
  struct task_struct* task = bpf_get_current_task_btf();
  u32 number = bpf_get_smp_processor_id();
  struct sample_scratch* scratch = bpf_map_lookup_elem(&sample_scratch, &number);
  void* ring = this_cpu_ring();
  if (!scratch || !ring) return 0;
  struct cpu_sample* fixed = &scratch->fixed;
  fill_who(&fixed->header, task, 0, time_ns);
  fixed->header.kind = RECORD_CPU_SAMPLE;
  fixed->flags = fixed->user_bytes = 0;
  fixed->reason = reason;
  long bytes = bpf_get_stack(ctx, fixed->kernel, sizeof(fixed->kernel), 0);
  fixed->kernel_frames = bytes > 0 ? bytes / 8 : 0;
  u32 size = sizeof(*fixed) + fill_user_side(scratch, task);
  fixed->header.size = size;
  barrier_var(size);
  if (size > offsetof(struct sample_scratch, python)) return 0;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* A tick during a softirq gives no sample: the softirq's work is not the thread's. */
static __always_inline void sample_cpu(void* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!task->pid || (u32)task->tgid == own_pid || !cpu || cpu->softirq_begin_ns) return;
  cpu->sampled_ns = cpu->looked_ns;
  sample_thread(ctx, cpu->looked_ns, SAMPLE_OF_CPU);
}

static __always_inline bool takes_samples(void) {
  return sample_bytes && control.armed;
}

/* Called as `task`, the thread of `ledger`, leaves its CPU while runnable. */
static __always_inline void sample_preempted(void* ctx, struct task_struct* task,
                                             const struct thread_ledger* ledger,
                                             const struct cpu_ledger* cpu, u64 now_ns) {
  if (!takes_samples() || !ledger->ran_since_ns || has_no_user_side(task)) return;
  u64 since_ns = cpu->sampled_ns > ledger->ran_since_ns ? cpu->sampled_ns : ledger->ran_since_ns;
  if (ns_between(since_ns, now_ns) < SAMPLED_AFTER_NS) return;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if ((s64)regs->orig_ax < 0) sample_cpu(ctx);
}

/* Samples the running thread where it wakes a thread that has waited for long. */
static __always_inline void sample_waker(void* ctx, u64 wake_ns) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (!takes_samples() || has_no_user_side(task) || (u32)task->tgid == own_pid) return;
  sample_thread(ctx, wake_ns, SAMPLE_OF_WAKER);
}

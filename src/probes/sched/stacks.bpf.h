/* SPDX-License-Identifier: GPL-2.0 */
/* User stacks of late waits. Such a wait ends in sched_switch, in the context of the previous
 * thread, where the waiting thread's memory cannot be read. So the stack is deferred (as in Linux's
 * unwind_deferred): the thread copies it before it returns to its program. Until then its user
 * registers and its stack stay the same. */
#pragma once

#include "bpf/unpreempted.bpf.h"
#include "bpf/user_stack.bpf.h"
#include "bpf/user_stack.h"
#include "bpf/wait.bpf.h"

enum payment {
  PAY_NEVER = 0,
  PAY_BY_WORK = 1, /* copied by task work, on the way back to the program (Linux 6.18) */
  PAY_AT_EXIT = 2, /* copied at the end of the system call; waits elsewhere have no user stacks */
};

struct stack_scratch {
  struct wait_stack fixed;
  struct user_registers registers;
  u8 stack[USER_STACK_ROOM];
};

/* One per CPU: a thread is not preempted while it copies. Not a per-CPU array, whose values must be
 * small. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct stack_scratch);
} stack_scratch SEC(".maps");

/* The kernel recognizes this type by its name. */
struct bpf_task_work {
  u64 opaque;
};

struct payer {
  struct bpf_task_work work;
};

/* By tid: threads whose task work is scheduled and has not run yet. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, u32);
  __type(value, struct payer);
} payers SEC(".maps");

/* The types in declarations of kernel functions must be known: libbpf compares them. */
struct bpf_map {
  u32 id;
};

/* Linux 6.18 has the function that takes the program as an argument. In later kernels the verifier
 * supplies the program. */
extern int bpf_task_work_schedule_resume_impl(struct task_struct* task, struct bpf_task_work* work,
                                              void* map__map,
                                              int (*callback)(struct bpf_map*, void*, void*),
                                              void* aux__prog) OPTIONAL_FUNCTION;
extern int bpf_task_work_schedule_resume(struct task_struct* task, struct bpf_task_work* work,
                                         void* map__map,
                                         int (*callback)(struct bpf_map*, void*,
                                                         void*)) OPTIONAL_FUNCTION;
const volatile u8 work_names_program; /* 1: the kernel has the former function */

#define CALL_INSTRUCTION_BYTES 2 /* syscall, int 0x80 */

/* Whether the deferred stack is still there: the thread is where its stack was deferred, or in
 * front of the call, which begins again. An execve() takes a thread's memory away while the thread
 * waits in the call. It changes the registers at the end, when the new memory holds a program. */
static __always_inline bool has_what_it_owes(struct task_struct* task, struct pt_regs* regs,
                                             struct thread_ledger* ledger) {
  if (is_exiting(task) || regs->sp != ledger->owed_sp) return false;
  u64 ahead = ledger->owed_ip - regs->ip;
  return (!ahead || ahead == CALL_INSTRUCTION_BYTES) && BPF_CORE_READ(task, mm, start_code);
}

/* Runs in the thread's context, not preemptible. */
static __noinline int pay_stack(struct task_struct* task, struct thread_ledger* ledger) {
  if (!task || !ledger) return 0;
  u64 since_ns = ledger->owes_ns;
  ledger->owes_ns = 0;
  u32 cpu = bpf_get_smp_processor_id();
  struct stack_scratch* scratch = bpf_map_lookup_elem(&stack_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!since_ns || !scratch || !ring) return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct wait_stack* fixed = &scratch->fixed;
  u16 flags = 0;
  u32 size = sizeof(*fixed);
  fill_who(&fixed->header, task, 0, bpf_ktime_get_ns());
  fixed->header.kind = RECORD_WAIT_STACK;
  fixed->since_ns = since_ns;
  fixed->user_bytes = 0;
  fixed->reserved = 0;
  __builtin_memset(fixed->arguments, 0, sizeof(fixed->arguments));
  if (has_what_it_owes(task, regs, ledger)) {
    copy_registers(&scratch->registers, regs);
    copy_native_arguments(fixed->arguments, regs);
    u32 bytes = copy_user_stack(scratch->stack, regs->sp, user_stack_bytes, &flags);
    fixed->user_bytes = bytes;
    size += sizeof(struct user_registers) + bytes;
    flags |= SPAN_HAS_USER_STACK;
  }
  fixed->flags = flags;
  fixed->header.size = size;
  barrier_var(size);
  if (size > sizeof(*scratch)) return 0;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

static int pay_by_work(struct bpf_map* map, void* tid, void* payer) {
  struct task_struct* task = bpf_get_current_task_btf();
  bpf_preempt_disable();
  struct thread_ledger* ledger = ledger_of(task);
  if (ledger) {
    pay_stack(task, ledger);
    ledger->is_asked = 0;
  }
  bpf_map_delete_elem(&payers, tid);
  bpf_preempt_enable();
  return 0;
}

static __always_inline bool ask_to_pay(struct task_struct* task) {
  u32 tid = task->pid;
  struct payer initial = {};
  if (bpf_map_update_elem(&payers, &tid, &initial, BPF_ANY)) return false;
  struct payer* payer = bpf_map_lookup_elem(&payers, &tid);
  if (!payer) return false;
  if (work_names_program)
    return !bpf_task_work_schedule_resume_impl(task, &payer->work, &payers, pay_by_work, 0);
  return !bpf_task_work_schedule_resume(task, &payer->work, &payers, pay_by_work);
}

/* Whether the thread has a user stack to defer and, if `in_call`, is in a system call. Stores the
 * user registers that identify the stack. If the thread waits again before the copy, one copy
 * serves both waits. */
static __always_inline bool may_owe(struct task_struct* task, struct thread_ledger* ledger,
                                    bool in_call) {
  if (!task || !ledger) return false;
  if (is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task)) return false;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if (in_call && (s64)regs->orig_ax < 0) return false;
  ledger->owed_ip = regs->ip;
  ledger->owed_sp = regs->sp;
  return true;
}

/* Defers the stack of `task`, whose late wait ends; true if the stack will be copied. Late waits
 * are rare, so this code is not inlined: the hook keeps its registers for the common path. */
static __noinline bool owe_by_work(struct task_struct* task, struct thread_ledger* ledger,
                                   u64 now_ns) {
  if (!ledger) return false;
  if (ledger->owes_ns && ledger->is_asked) return true;
  if (!may_owe(task, ledger, false)) return false;
  if (!ledger->is_asked && !ask_to_pay(task)) return false;
  ledger->is_asked = 1;
  ledger->owes_ns = now_ns;
  return true;
}

static __noinline bool owe_at_exit(struct task_struct* task, struct thread_ledger* ledger,
                                   u64 now_ns) {
  if (!ledger) return false;
  if (ledger->owes_ns) return true;
  if (!may_owe(task, ledger, true)) return false;
  ledger->owes_ns = now_ns;
  return true;
}

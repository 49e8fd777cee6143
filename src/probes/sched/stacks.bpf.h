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

enum deferral {
  DEFER_NEVER = 0,
  DEFER_TO_WORK = 1, /* copied by task work, on the way back to the program (Linux 6.18) */
  DEFER_TO_EXIT = 2, /* copied at the end of the system call; waits elsewhere have no user stacks */
};

struct stack_scratch {
  struct wait_stack fixed;
  struct user_registers registers;
  u8 stack[USER_STACK_ROOM + PYTHON_ROOM];
  struct python_scratch python;
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

struct copy_work {
  struct bpf_task_work work;
};

/* By tid: threads whose task work is scheduled and has not run yet. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, u32);
  __type(value, struct copy_work);
} copy_works SEC(".maps");

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
static __always_inline bool still_has_deferred_stack(struct task_struct* task, struct pt_regs* regs,
                                                     struct thread_ledger* ledger) {
  if (is_exiting(task) || regs->sp != ledger->deferred_sp) return false;
  u64 ahead = ledger->deferred_ip - regs->ip;
  return (!ahead || ahead == CALL_INSTRUCTION_BYTES) && BPF_CORE_READ(task, mm, start_code);
}

/* Runs in the thread's context, not preemptible. */
static __noinline int copy_deferred_stack(struct task_struct* task, struct thread_ledger* ledger) {
  if (!task || !ledger) return 0;
  u64 since_ns = ledger->deferred_ns;
  ledger->deferred_ns = 0;
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
  if (still_has_deferred_stack(task, regs, ledger)) {
    copy_registers(&scratch->registers, regs);
    copy_native_arguments(fixed->arguments, regs);
    u32 bytes = copy_user_stack(scratch->stack, regs->sp, user_stack_bytes, &flags);
    fixed->user_bytes = bytes;
    size += sizeof(struct user_registers) + bytes;
    size += append_python(scratch->stack, &fixed->user_bytes, USER_STACK_ROOM, &scratch->python,
                          &flags);
    flags |= SPAN_HAS_USER_STACK;
  }
  fixed->flags = flags;
  fixed->header.size = size;
  barrier_var(size);
  if (size > offsetof(struct stack_scratch, python)) return 0;
  if (bpf_ringbuf_output(ring, scratch, size, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

static int copy_by_work(struct bpf_map* map, void* tid, void* work) {
  struct task_struct* task = bpf_get_current_task_btf();
  bpf_preempt_disable();
  struct thread_ledger* ledger = ledger_of(task);
  if (ledger) {
    copy_deferred_stack(task, ledger);
    ledger->is_copy_queued = 0;
  }
  bpf_map_delete_elem(&copy_works, tid);
  bpf_preempt_enable();
  return 0;
}

static __always_inline bool schedule_copy(struct task_struct* task) {
  u32 tid = task->pid;
  struct copy_work initial = {};
  if (bpf_map_update_elem(&copy_works, &tid, &initial, BPF_ANY)) return false;
  struct copy_work* copy = bpf_map_lookup_elem(&copy_works, &tid);
  if (!copy) return false;
  if (work_names_program)
    return !bpf_task_work_schedule_resume_impl(task, &copy->work, &copy_works, copy_by_work, 0);
  return !bpf_task_work_schedule_resume(task, &copy->work, &copy_works, copy_by_work);
}

/* Whether the thread has a user stack to defer and, if `in_call`, is in a system call. Stores the
 * user registers that identify the stack. If the thread waits again before the copy, one copy
 * serves both waits. */
static __always_inline bool may_defer_stack(struct task_struct* task, struct thread_ledger* ledger,
                                            bool in_call) {
  if (!task || !ledger) return false;
  if (is_exiting(task) || has_no_user_side(task) || has_32_bit_registers(task)) return false;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if (in_call && (s64)regs->orig_ax < 0) return false;
  ledger->deferred_ip = regs->ip;
  ledger->deferred_sp = regs->sp;
  return true;
}

/* Defers the stack of `task`, whose late wait ends; true if the stack will be copied. Late waits
 * are rare, so this code is not inlined: the hook keeps its registers for the common path. */
static __noinline bool defer_to_work(struct task_struct* task, struct thread_ledger* ledger,
                                     u64 now_ns) {
  if (!ledger) return false;
  if (ledger->deferred_ns && ledger->is_copy_queued) return true;
  if (!may_defer_stack(task, ledger, false)) return false;
  if (!ledger->is_copy_queued && !schedule_copy(task)) return false;
  ledger->is_copy_queued = 1;
  ledger->deferred_ns = now_ns;
  return true;
}

static __noinline bool defer_to_exit(struct task_struct* task, struct thread_ledger* ledger,
                                     u64 now_ns) {
  if (!ledger) return false;
  if (ledger->deferred_ns) return true;
  if (!may_defer_stack(task, ledger, true)) return false;
  ledger->deferred_ns = now_ns;
  return true;
}

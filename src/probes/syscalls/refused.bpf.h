/* SPDX-License-Identifier: GPL-2.0 */
/* Calls that never begin, because seccomp or a tracer answers them in the kernel's place. Both come
 * before the tracepoint of the entry (syscall_trace_enter()), so there is only an exit, with the
 * number and the answer. If the kernel kills a thread for its call (SECCOMP_RET_KILL_THREAD, strict
 * mode), there is no exit either, only the thread's end. Calls that syscall user dispatch hands to
 * a program pass neither tracepoint. */
#pragma once

#include "bpf/seccomp.bpf.h"
#include "probes/syscalls/callers.bpf.h"
#include "probes/syscalls/calls.bpf.h"
#include "probes/syscalls/cells.bpf.h"

#define SIGSYS_BIT (1ul << 30)

/* Since when calls of members may be refused; 0: no sign of it. Set if not every exit has a hook,
 * so that user space attaches one. */
u64 refusable_ns;

/* Whether anything may answer calls of `task` in the kernel's place. */
static __always_inline bool may_be_refused(const struct task_struct* task) {
  return seccomp_mode(task) || task->ptrace;
}

/* SECCOMP_RET_TRAP: the registers are those from before the call, and SIGSYS is pending. */
static __always_inline bool was_trapped(const struct task_struct* task,
                                        const struct pt_regs* regs) {
  return regs->ax == regs->orig_ax && task->pending.signal.sig[0] & SIGSYS_BIT;
}

/* Whether the call that begins may install a filter. */
static __always_inline bool may_install_filter(const struct pt_regs* regs, u32 nr, u16 abi) {
  if (abi == ABI_COMPAT)
    return nr == COMPAT_SECCOMP || (nr == COMPAT_PRCTL && (u32)regs->bx == PR_SET_SECCOMP);
  return nr == SYS_SECCOMP || (nr == SYS_PRCTL && (u32)regs->di == PR_SET_SECCOMP);
}

static __always_inline void note_refusable(void) {
  if (!refusable_ns) refusable_ns = bpf_ktime_get_ns();
}

static __always_inline u8 refusal_flags(struct task_struct* task, struct pt_regs* regs) {
  if (was_killed(task)) return SYSCALL_REFUSED | SYSCALL_UNRETURNED;
  if (was_trapped(task, regs)) return SYSCALL_REFUSED | SYSCALL_TRAPPED;
  return SYSCALL_REFUSED;
}

static __always_inline void count_refusal(struct task_struct* task, struct thread_state* state,
                                          s64 ret, u8 flags) {
  struct syscall_cell* cell = find_cell(task, state);
  if (!cell) return;
  cell->refused++;
  if (flags == SYSCALL_REFUSED) count_result(cell, ret);
}

/* The call in the running thread's registers was refused with `ret`. Not static: see
 * is_late_by_glob(). */
__noinline int refuse_call(struct thread_state* state, s64 ret) {
  if (!state) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  u32 nr;
  u16 abi = split_call_id(task, regs->orig_ax, &nr);
  if (!cpu_wanted()) return 0;
  if (filtered || discover_only) count_if_beyond_sets(nr, abi);
  if (filtered && !is_wanted(abi, nr)) return 0;
  if (discover_only || two_phase) insert(discovered, abi, nr);
  count(COUNTER_REFUSED, 1);
  state->refusal = refusal_flags(task, regs);
  /* Read again: otherwise the verifier checks the code below once for each value. */
  u8 flags = *(volatile u8*)&state->refusal;
  state->nr = nr;
  state->abi = abi;
  state->enter_ns = bpf_ktime_get_ns();
  if (want_callers) find_caller(task, state);
  if (want_callers && emit_pending(task, state, state->enter_ns, ret, flags)) return 0;
  if (want_cells) count_refusal(task, state, ret, flags);
  if (want_calls) {
    copy_arguments(state, regs, abi);
    remember_arguments(task, state);
    emit_call(task, state, state->enter_ns, 0, ret, flags);
  }
  return 0;
}

/* Whether an exit of `task` without a seen begin is that of a refused call. A function of its own,
 * so that the verifier forgets how the answer came about. */
static __noinline bool is_refused(struct task_struct* task, struct thread_state* state, s64 ret) {
  if (!task || !state || !may_be_refused(task)) return false;
  if (state->fresh == FRESH_NO) return true;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if (state->fresh != FRESH_ADOPTED || came_with(state, regs)) return false;
  u32 nr;
  u16 abi = split_call_id(task, regs->orig_ax, &nr);
  /* These calls return with other registers. */
  return nr != ~0u && !(ret == 0 && replaces_program(abi, nr));
}

/* A thread ends in a call that it was killed for, and whose exit was not seen. */
static __always_inline void refuse_last_call(struct task_struct* task, struct thread_state* state) {
  if (control.armed && was_killed(task) && state->fresh != FRESH_PASSED) refuse_call(state, 0);
}

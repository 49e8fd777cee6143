/* SPDX-License-Identifier: GPL-2.0 */
/* The call that a thread returns from while it waits after the end of the call. */
#pragma once

#include "bpf/call.bpf.h"
#include "bpf/seccomp.bpf.h"
#include "bpf/wait.bpf.h"

#define NATIVE_CALLS 512 /* x32 numbers begin here */
#define NOT_BEGUN (-38)  /* ENOSYS: the result of a call that has none yet */

/* A thread that waits between the end of a call and its program, for example stopped by a signal,
 * is still in the call for its program. The call is the last one known of the thread; a call for
 * which seccomp kills the thread never begins. Returns the number of the call plus 1; 0: the thread
 * is in a call, or in its program. */
static __always_inline u32 ended_call(struct task_struct* task, const struct thread_state* state,
                                      const struct thread_ledger* ledger) {
  if (!state || state->in_call != CALL_NONE || ledger->call.who) return 0;
  if (has_no_user_side(task) || has_32_bit_registers(task) || was_killed(task)) return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  s64 id = regs->orig_ax;
  return id >= 0 && id < NATIVE_CALLS && (s64)regs->ax != NOT_BEGUN ? id + 1 : 0;
}

static __always_inline void note_ended_call(struct sched_wait* wait, struct task_struct* task,
                                            const struct thread_ledger* ledger) {
  const struct thread_state* state = find_of_thread(threads, task);
  wait->call = ended_call(task, state, ledger);
  if (!wait->call) return;
  wait->call_ns = begin_of_last_call(state, ledger);
  if (wait->call_ns > ledger->ran_since_ns) wait->flags |= WAIT_RAN_SINCE_CALL;
}

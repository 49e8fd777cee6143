// SPDX-License-Identifier: GPL-2.0
// System calls of the target's threads. A call begins at raw_syscalls:sys_enter and ends at
// raw_syscalls:sys_exit or, in the second phase of a two-phase run, at the discovered calls' own
// exit tracepoints, so that a bystander pays for one hook. Results go into cells (aggregate) or
// into the ring (one record per call).
#include "bpf/compat.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/unpreempted.bpf.h"
#include "probes/syscalls/callers.bpf.h"
#include "probes/syscalls/calls.bpf.h"
#include "probes/syscalls/cells.bpf.h"
#include "probes/syscalls/handlers.bpf.h"
#include "probes/syscalls/hangs.bpf.h"
#include "probes/syscalls/refused.bpf.h"
#include "probes/syscalls/stalls.bpf.h"

u64 end_ns; /* end of the session */

/* The second phase: whether the exit of the open call has a hook. The exit of rt_sigreturn never
 * fires: rt_sigreturn restores other registers, and the call's number with them. */
static __always_inline bool exit_has_hook(const struct thread_state* state) {
  if (state->nr == RT_SIGRETURN && state->abi == ABI_NATIVE) return false;
  return contains(discovered, state->abi, state->nr) || contains(late_timed, state->abi, state->nr);
}

/* A call whose end will not be seen is counted when it begins, without a latency. */
static __always_inline void count_untimed(struct task_struct* task, struct thread_state* state) {
  u8 flags = SYSCALL_UNTIMED;
  state->in_call = CALL_NONE;
  state->fresh = FRESH_PASSED;
  if (is_late(state->abi, state->nr)) {
    flags |= SYSCALL_LATE;
    insert(late_seen, state->abi, state->nr);
  }
  if (want_callers) state->enter_ns = bpf_ktime_get_ns();
  if (want_callers && emit_pending(task, state, state->enter_ns, 0, flags)) return;
  if (want_cells) {
    struct syscall_cell* cell = find_cell(task, state);
    if (cell) cell->untimed++;
  }
  if (want_calls) {
    state->enter_ns = bpf_ktime_get_ns();
    emit_call(task, state, state->enter_ns, 0, 0, flags);
  }
}

/* A call left over from before the change of phases: its exit no longer had a hook. */
static __always_inline void cut_call(struct thread_state* state) {
  state->in_call = CALL_NONE;
  count(COUNTER_CUT, 1);
}

/* A call begins while nothing is measured. Before the session, the thread will be adopted in this
 * call. */
static __always_inline void pass_unarmed(struct thread_state* state, struct pt_regs* regs) {
  state->fresh = FRESH_UNARMED;
  if (control.since_ns[SPAN_SYSCALL]) return;
  state->fresh = FRESH_ADOPTED;
  state->enter_ns = bpf_ktime_get_ns();
  note_registers(state, regs);
}

/* Not every exit has a hook: notes a sign that refused calls need one. */
static __always_inline void look_for_filters(struct task_struct* task, struct thread_state* state,
                                             struct pt_regs* regs, u32 nr, u16 abi) {
  if ((state->fresh && may_be_refused(task)) || may_install_filter(regs, nr, abi)) note_refusable();
}

static __always_inline bool leave_out(struct thread_state* state) {
  state->fresh = FRESH_PASSED;
  return false;
}

/* A call begins: notes it, if it is wanted. The caller handles the arguments. */
static __always_inline bool begin_call(struct task_struct* task, struct thread_state* state,
                                       struct pt_regs* regs, u32 nr, u16 abi) {
  if (!control.armed) {
    pass_unarmed(state, regs);
    return false;
  }
  if (discover_only || two_phase) look_for_filters(task, state, regs, nr, abi);
  state->fresh = FRESH_NO;
  if (two_phase && state->in_call != CALL_NONE) cut_call(state);
  if (!cpu_wanted()) return leave_out(state);
  if (filtered && !is_wanted(abi, nr)) {
    count_if_beyond_sets(nr, abi);
    return leave_out(state);
  }
  if (discover_only) count_if_beyond_sets(nr, abi);
  if (discover_only || (two_phase && !in_second_phase())) insert(discovered, abi, nr);
  state->nr = nr;
  state->abi = abi;
  state->in_call = CALL_OPEN;
  return true;
}

static __always_inline void end_call(struct task_struct* task, struct thread_state* state, s64 ret,
                                     u8 flags) {
  u64 now_ns = bpf_ktime_get_ns();
  u64 latency_ns = ns_since_entry(state, now_ns);
  state->in_call = CALL_NONE;
  if (is_late(state->abi, state->nr)) flags |= SYSCALL_LATE;
  if (want_callers && emit_pending(task, state, now_ns, ret, flags)) return;
  if (want_cells) {
    struct syscall_cell* cell = find_cell(task, state);
    if (cell && flags & SYSCALL_UNRETURNED) {
      cell->unreturned++;
      if (task->exit_code & 0xff00) cell->failed++;
    } else if (cell)
      add_to_cell(cell, latency_ns, ret);
  }
  if (want_calls) emit_call(task, state, now_ns, latency_ns, ret, flags);
  if (want_stalls && counts_latencies(SPAN_SYSCALL) && !(flags & SYSCALL_UNRETURNED))
    count_call(state->abi, state->nr, latency_ns);
  if (want_stalls && is_stall(task, state, latency_ns)) emit_stall(state, now_ns, ret, flags);
}

/* Whether the call that ends is selected by -e. */
static __always_inline bool was_wanted(struct task_struct* task, struct pt_regs* regs) {
  u32 nr;
  u16 abi = split_call_id(task, (s64)regs->orig_ax, &nr);
  return !filtered || is_wanted(abi, nr);
}

/* An exit of a call that is not measured: left out, cut by the start, refused, of a clone's child,
 * or truly unmatched. */
static __always_inline void end_unknown(struct task_struct* task, struct thread_state* state,
                                        struct pt_regs* regs, s64 ret) {
  u8 fresh = state->fresh;
  bool refused = is_refused(task, state, ret);
  state->fresh = FRESH_NO;
  /* The way back begins here: the rest of the call was not seen completely. */
  if (refused || (fresh != FRESH_NO && fresh != FRESH_PASSED)) state->enter_ns = bpf_ktime_get_ns();
  if (!control.armed || in_second_phase()) return;
  if (refused) {
    refuse_call(state, ret);
    if (was_killed(task)) state->fresh = FRESH_PASSED;
  } else if (fresh == FRESH_ADOPTED || (fresh == FRESH_UNARMED && !cpus_limited)) {
    if (was_wanted(task, regs)) count(COUNTER_CUT, 1);
  } else if (fresh == FRESH_NO && !filtered && !cpus_limited && !two_phase) {
    count(COUNTER_UNMATCHED, 1);
  }
}

static __always_inline void enter_call(struct task_struct* task, struct pt_regs* regs, s64 id) {
  if (calls_on_cpu && begin_known_call(task, id)) return;
  struct thread_state* state = member_state(task);
  if (!state) return;
  u32 nr;
  u16 abi = split_call_id(task, id, &nr);
  if (want_callers && control.armed && may_change_code(regs, nr, abi))
    begin_space(task, task->tgid);
  if (!begin_call(task, state, regs, nr, abi)) return;
  if (want_callers) find_caller(task, state);
  if (want_calls || (want_stalls && replaces_program(abi, nr))) {
    copy_arguments(state, regs, abi);
    remember_arguments(task, state);
  }
  if (in_second_phase() && !exit_has_hook(state)) {
    count_untimed(task, state);
    return;
  }
  state->enter_ns = bpf_ktime_get_ns(); /* last: the work above is not the call's time */
  if (want_stalls) put_call_on_cpu(task, state);
}

static __always_inline void leave_call(struct task_struct* task, struct pt_regs* regs, s64 ret) {
  if (calls_on_cpu && end_known_call(task, ret)) return;
  struct thread_state* state = member_state(task);
  if (!state) return;
  if (want_stalls) take_call_back(task, state);
  if (take_call(state))
    end_call(task, state, ret, 0);
  else
    end_unknown(task, state, regs, ret);
  if (want_stalls && (s64)regs->orig_ax < 0) end_handler(state, ret); /* of rt_sigreturn */
}

SEC("?tp_btf/sys_enter")
int COUNTED_PROG(on_sys_enter, struct pt_regs* regs, long id) {
  enter_call(bpf_get_current_task_btf(), regs, id);
  return 0;
}

SEC("?tp_btf/sys_exit")
int COUNTED_PROG(on_sys_exit, struct pt_regs* regs, long ret) {
  leave_call(bpf_get_current_task_btf(), regs, ret);
  return 0;
}

/* The same two hooks for kernels that preempt them (kernel/call_hooks.h). A thread preempted in one
 * of those would hide every other thread's calls on its CPU. perf's own way to a program costs
 * more, but the kernel runs it with preemption disabled. The context is a trace_event_raw_sys_enter
 * or a trace_event_raw_sys_exit. */
struct raw_call_context {
  u64 common;
  s64 id;
  s64 ret; /* of an exit; for an entry, the first argument */
};

SEC("?tp/raw_syscalls/sys_enter")
int COUNTED_PROG(on_entry_event) {
  struct task_struct* task = bpf_get_current_task_btf();
  enter_call(task, (struct pt_regs*)bpf_task_pt_regs(task), ((struct raw_call_context*)ctx)->id);
  return 0;
}

SEC("?tp/raw_syscalls/sys_exit")
int COUNTED_PROG(on_exit_event) {
  struct task_struct* task = bpf_get_current_task_btf();
  leave_call(task, (struct pt_regs*)bpf_task_pt_regs(task), ((struct raw_call_context*)ctx)->ret);
  return 0;
}

/* The second phase: what the kernel passes to per-call programs (perf_call_bpf_exit()). */
struct call_exit_context {
  u64 common;
  u32 nr;
  u32 padding;
  s64 ret;
};

static __always_inline void end_discovered_call(const struct call_exit_context* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_state* state = member_state(task);
  if (!state || !take_call(state)) return;
  state->fresh = FRESH_PASSED; /* for the hook of every exit, if it is still attached */
  if (state->nr == ctx->nr && state->abi == ABI_NATIVE)
    end_call(task, state, ctx->ret, 0);
  else
    cut_call(state);
}

SEC("?tp/syscalls/sys_exit_getppid")
int UNPREEMPTED_PROG(on_call_exit) {
  end_discovered_call((struct call_exit_context*)ctx);
  return 0;
}

/* A new process begins with its parent's code: what is known of the parent's code holds for it,
 * until either process changes its own. */
SEC("?tp_btf/sched_process_fork")
int UNPREEMPTED_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  u32 pid = parent->tgid, child_pid = child->tgid;
  if (pid == child_pid || !member_state(parent)) return 0;
  struct code_space* known = bpf_map_lookup_elem(&code_spaces, &pid);
  if (!known || known->exec_id != child->self_exec_id ||
      known->leader_start_ns != parent->group_leader->start_time)
    return 0;
  struct code_space inherited = *known;
  inherited.leader_start_ns = child->start_time;
  bpf_map_update_elem(&code_spaces, &child_pid, &inherited, BPF_ANY);
  return 0;
}

/* A thread ends inside a call: exit_group itself, or a kill. */
static __always_inline void end_thread(struct task_struct* task) {
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return;
  if (want_stalls) take_call_back(task, state);
  if (take_call(state))
    end_call(task, state, 0, SYSCALL_UNRETURNED);
  else
    refuse_last_call(task, state);
}

SEC("?tp_btf/sched_process_exit")
int COUNTED_PROG(on_thread_exit, struct task_struct* task) {
  end_thread(task);
  return 0;
}

SEC("?tp/sched/sched_process_exit")
int COUNTED_PROG(on_ending_event) {
  end_thread(bpf_get_current_task_btf());
  return 0;
}

/* Only the exit shows a refused call: user space checks whether there may be such calls. */
SEC("?iter/task")
int find_refusable(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (task && find_of_thread(threads, task) && may_be_refused(task)) note_refusable();
  return 0;
}

static __always_inline void write_open(struct seq_file* seq, struct task_struct* task,
                                       struct thread_state* state, u64 begin_ns,
                                       struct syscall_open* open) {
  fill_header(&open->header, task, state, end_ns);
  open->header.kind = RECORD_SYSCALL_OPEN;
  open->header.size = sizeof(*open);
  if (begin_ns < end_ns) open->age_ns = end_ns - begin_ns;
  bpf_seq_write(seq, open, sizeof(*open));
}

/* The work of claim_calls() and open_calls() for a call that is not in thread_state: claims the
 * call, unless it has just ended, … */
static __always_inline void claim_open_call(struct task_struct* task) {
  struct thread_ledger* ledger = ledger_of(task);
  struct open_call* call = ledger ? find_call(ledger, task) : 0;
  u64 who = call ? call->who : 0;
  if (who) __sync_val_compare_and_swap(&call->who, who, who | CLAIM_OF_READER);
}

/* … and reports it if it is still claimed. */
static __always_inline void list_open_call(struct seq_file* seq, struct task_struct* task,
                                           struct thread_state* state) {
  struct thread_ledger* ledger = ledger_of(task);
  struct open_call* call = ledger ? find_call(ledger, task) : 0;
  if (!call) return;
  struct syscall_open open = {.nr = call->nr, .abi = call->abi};
  u64 begin_ns = call->begin_ns;
  u64 who = call->who;
  if (!(who & CLAIM_OF_READER)) return; /* the call has ended */
  u64 was = __sync_val_compare_and_swap(&call->who, who, who | CLAIM_SETTLED);
  if (was == who) write_open(seq, task, state, begin_ns, &open);
}

/* The open calls at the end of the session are reported in two steps, while their exits are still
 * attached. First each call is claimed, so that its exit knows. Calls older than the session are of
 * no concern to exits, and are reported at once. Each is one syscall_open. */
SEC("iter/task")
int claim_calls(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct syscall_open open = {};
  s64 id = -1;
  if (!task || discover_only) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return 0;
  if (calls_on_cpu) claim_open_call(task);
  __sync_val_compare_and_swap(&state->in_call, CALL_OPEN, CALL_CLAIMED);
  if (state->in_call != CALL_NONE || !in_older_call(task, state, &id)) return 0;
  open.abi = split_call_id(task, id, &open.nr);
  open.flags = SYSCALL_OLDER;
  if (filtered && !is_wanted(open.abi, open.nr)) return 0;
  write_open(ctx->meta->seq, task, state, state->enter_ns, &open);
  return 0;
}

/* Then, when every exit hook that has not seen the claim is done, the calls still claimed were open
 * at the end. A thread may be visited twice, if its record does not fit behind the others. */
SEC("iter/task")
int open_calls(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  struct syscall_open open = {};
  if (!task || discover_only) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  if (!state) return 0;
  if (calls_on_cpu) list_open_call(ctx->meta->seq, task, state);
  u32 was = __sync_val_compare_and_swap(&state->in_call, CALL_CLAIMED, CALL_LISTED);
  if (was != CALL_CLAIMED && was != CALL_LISTED) return 0;
  open.nr = state->nr;
  open.abi = state->abi;
  write_open(ctx->meta->seq, task, state, state->enter_ns, &open);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

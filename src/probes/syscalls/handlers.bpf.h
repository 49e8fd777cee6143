/* SPDX-License-Identifier: GPL-2.0 */
/* Signal handlers that run behind the end of a call: for the program, a handler's time is the
 * call's time. A handler ends with rt_sigreturn, if not by longjmp(): the stack is then back where
 * it was. 32-bit programs are left out. */
#pragma once

#include "bpf/signals.h"
#include "probes/syscalls/stalls.bpf.h"

#define HANDLERS_NESTED 4

/* A handler under way, and the call that its thread was in. */
struct call_handler {
  u64 begin_ns;
  u64 call_ns;
  u64 rsp; /* the call has ended with these registers */
  u64 rip;
  s64 ret;
  struct ledger_sums at_call;
  struct ledger_sums at_begin;
  u32 nr;
  u16 signal;
  u16 has_ledger; /* at_call is known */
};

/* Innermost last. A handler that was left by longjmp() stays until the stack is smaller than its
 * own. */
struct call_handlers {
  u64 count;
  struct call_handler at[HANDLERS_NESTED];
};

THREAD_STORAGE(call_handlers, LRU_HASH, struct call_handlers);
static const struct call_handlers no_handlers;

/* `at` is less than HANDLERS_NESTED. The verifier forgets how the number came about: otherwise it
 * would check the code that follows once for each number. */
static __always_inline struct call_handler* handler_at(struct call_handlers* all, u64 at) {
  barrier_var(at);
  return &all->at[at & (HANDLERS_NESTED - 1)];
}

/* Room for a handler that interrupts a stack ending at `rsp`. Null if the handler belongs to the
 * same call as the handler around it: two signals came at once. */
static __always_inline struct call_handler* push_handler(struct call_handlers* all, u64 rsp,
                                                         u64 call_ns) {
  u64 count = all->count;
  for (u32 i = 0; i < HANDLERS_NESTED; i++)
    if (count && handler_at(all, count - 1)->rsp <= rsp) count--;
  if (count && handler_at(all, count - 1)->call_ns == call_ns) return 0;
  if (count >= HANDLERS_NESTED) count = 0;
  all->count = count + 1;
  return handler_at(all, count);
}

static __noinline int begin_handler(struct task_struct* task, u32 nr, u32 signal) {
  if (!task) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!state || !ledger || !cpu || state->in_call != CALL_NONE) return 0;
  if (cpu->call.begin_ns > ledger->ran_since_ns) note_call(ledger, cpu);
  u64 call_ns = begin_of_last_call(state, ledger);
  struct call_handlers* all = call_ns ? make_of_thread(call_handlers, task, &no_handlers) : 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct call_handler* handler = all ? push_handler(all, regs->sp, call_ns) : 0;
  if (!handler) return 0;
  handler->begin_ns = bpf_ktime_get_ns();
  handler->call_ns = call_ns;
  handler->nr = nr;
  handler->signal = signal;
  handler->rsp = regs->sp;
  handler->rip = regs->ip;
  handler->ret = (s64)regs->ax;
  handler->has_ledger = ledger->call_ns == call_ns;
  handler->at_call = ledger->at_call;
  read_ledger(ledger, cpu, handler->begin_ns, &handler->at_begin);
  return 0;
}

SEC("?raw_tp/signal_deliver")
int UNPREEMPTED_PROG(on_signal, int signal, struct kernel_siginfo* info,
                     struct k_sigaction* action) {
  struct task_struct* task = bpf_get_current_task_btf();
  u32 nr;
  if (!control.armed || (u64)BPF_CORE_READ(action, sa.sa_handler) <= 1)
    return 0; /* SIG_DFL, SIG_IGN */
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if ((s64)regs->orig_ax < 0) return 0; /* not from a call */
  if (split_call_id(task, (s64)regs->orig_ax, &nr) != ABI_NATIVE) return 0;
  if (filtered && !is_wanted(ABI_NATIVE, nr)) return 0;
  begin_handler(task, nr, (u32)signal);
  return 0;
}

static __always_inline void emit_handler(struct task_struct* task, struct thread_state* state,
                                         const struct call_handler* handler, u64 now_ns) {
  void* ring = this_cpu_ring();
  struct signal_handler* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_header(&record->header, task, state, now_ns);
  record->header.kind = RECORD_SIGNAL_HANDLER;
  record->header.size = sizeof(*record);
  record->begin_ns = handler->begin_ns;
  record->signal = handler->signal;
  record->reserved = 0;
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

/* Removes and returns the handler that was left for the stack of `regs`, with the handlers in
 * it. */
static __always_inline struct call_handler* pop_handler(struct task_struct* task,
                                                        const struct pt_regs* regs) {
  struct call_handlers* all = find_of_thread(call_handlers, task);
  u64 found = HANDLERS_NESTED;
  if (!all) return 0;
  for (u32 i = HANDLERS_NESTED; i-- > 0;)
    if (i < all->count && all->at[i].rsp == regs->sp) found = i;
  if (found >= HANDLERS_NESTED) return 0;
  all->count = found;
  return handler_at(all, found);
}

/* Whether the call of `handler` is late now that the handler has returned. If so, `state` and the
 * ledger describe that call: from its begin or, if it was late when it ended, from the
 * handler's. */
static __always_inline bool is_late_with_handler(struct task_struct* task,
                                                 struct thread_state* state,
                                                 const struct call_handler* handler, u64 now_ns) {
  struct thread_ledger* ledger = ledger_of(task);
  if (!ledger) return false;
  state->nr = handler->nr;
  state->abi = ABI_NATIVE;
  bool is_reported = is_stall(task, state, ns_between(handler->call_ns, handler->begin_ns));
  state->enter_ns = is_reported ? handler->begin_ns : handler->call_ns;
  if (!is_stall(task, state, ns_since_entry(state, now_ns))) return false;
  if (!is_reported && !handler->has_ledger) return true;
  ledger->call_ns = state->enter_ns;
  ledger->at_call = is_reported ? handler->at_begin : handler->at_call;
  return true;
}

/* The running thread comes out of rt_sigreturn, with the registers from before the handler. A call
 * that begins again has its number in place of a result. Not static: see is_late_by_glob(). */
__noinline int end_handler(struct thread_state* state, s64 ret) {
  if (!want_stalls || !state) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  const struct pt_regs* regs = (const struct pt_regs*)bpf_task_pt_regs(task);
  struct call_handler* handler = pop_handler(task, regs);
  if (!handler || !control.armed || state->in_call != CALL_NONE) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  if (!is_late_with_handler(task, state, handler, now_ns)) return 0;
  emit_handler(task, state, handler, now_ns);
  return emit_stall(state, now_ns, regs->ip == handler->rip ? ret : handler->ret, 0);
}

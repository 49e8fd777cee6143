/* SPDX-License-Identifier: GPL-2.0 */
/* The handler of a signal that runs behind a call's end: for its program that is the call's time.
 * It ends with rt_sigreturn, if not by longjmp(); the frame that this takes away says which handler
 * it was. 32-bit programs have other frames, and are left out. */
#pragma once

#include "bpf/signals.h"
#include "probes/syscalls/stalls.bpf.h"

#define HANDLERS_NESTED 4
#define FRAME_RSP 160 /* of struct ucontext, arch/x86: uc_mcontext.sp */

/* A handler under way, and the call whose thread runs it. */
struct call_handler {
  u64 begin_ns;
  u64 call_ns;
  struct user_registers registers; /* with which the call has ended */
  struct ledger_sums at_call;
  struct ledger_sums at_begin;
  u32 nr;
  u16 signal;
  u16 has_ledger; /* at_call is known */
};

/* Innermost last. Those that were left by longjmp() stay until the stack is smaller than theirs. */
struct call_handlers {
  u64 count;
  struct call_handler at[HANDLERS_NESTED];
};

THREAD_STORAGE(call_handlers, LRU_HASH, struct call_handlers);
static const struct call_handlers no_handlers;

/* When the call began that `task` comes from; 0: not known. */
static __always_inline u64 begin_of_last_call(const struct thread_state* state,
                                              struct thread_ledger* ledger,
                                              const struct cpu_ledger* cpu) {
  if (cpu->call.begin_ns > ledger->ran_since_ns) note_call(ledger, cpu);
  u64 call_ns = ledger->last_call_ns;
  if (call_ns < ledger->call_ns) call_ns = ledger->call_ns;
  return call_ns < state->enter_ns ? state->enter_ns : call_ns;
}

/* Room for a handler that interrupts a stack that ends at `rsp`. Null where the handler belongs to
 * the same call as the one around it: two signals came at once. */
static __always_inline struct call_handler* push_handler(struct call_handlers* all, u64 rsp,
                                                         u64 call_ns) {
  u64 count = all->count;
  for (u32 i = 0; i < HANDLERS_NESTED; i++)
    if (count && all->at[(count - 1) & (HANDLERS_NESTED - 1)].registers.rsp <= rsp) count--;
  if (count && all->at[(count - 1) & (HANDLERS_NESTED - 1)].call_ns == call_ns) return 0;
  if (count >= HANDLERS_NESTED) count = 0;
  all->count = count + 1;
  return &all->at[count & (HANDLERS_NESTED - 1)];
}

static __noinline int begin_handler(struct task_struct* task, u32 nr, u32 signal) {
  if (!task) return 0;
  struct thread_state* state = find_of_thread(threads, task);
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!state || !ledger || !cpu || state->in_call != CALL_NONE) return 0;
  u64 call_ns = begin_of_last_call(state, ledger, cpu);
  struct call_handlers* all = call_ns ? make_of_thread(call_handlers, task, &no_handlers) : 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  struct call_handler* handler = all ? push_handler(all, regs->sp, call_ns) : 0;
  if (!handler) return 0;
  handler->begin_ns = bpf_ktime_get_ns();
  handler->call_ns = call_ns;
  handler->nr = nr;
  handler->signal = signal;
  copy_registers(&handler->registers, regs);
  handler->has_ledger = ledger->call_ns == call_ns;
  handler->at_call = ledger->at_call;
  read_ledger(ledger, cpu, handler->begin_ns, &handler->at_begin);
  return 0;
}

SEC("?tp_btf/signal_deliver")
int UNPREEMPTED_PROG(on_signal, int signal, struct kernel_siginfo* info,
                     struct k_sigaction* action) {
  struct task_struct* task = bpf_get_current_task_btf();
  u32 nr;
  if (!control.armed || (u64)action->sa.sa_handler <= 1) return 0; /* SIG_DFL, SIG_IGN */
  if (!may_be_kept(task) || has_no_user_side(task)) return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  if ((s64)regs->orig_ax < 0) return 0; /* not from a call */
  if (split_call_id(task, (s64)regs->orig_ax, &nr) != ABI_NATIVE) return 0;
  if (filtered && !is_wanted(ABI_NATIVE, nr)) return 0;
  begin_handler(task, nr, (u32)signal);
  return 0;
}

static __always_inline void emit_handler(struct task_struct* task, struct thread_state* state,
                                         const struct call_handler* handler, void* ring,
                                         u64 now_ns) {
  struct signal_handler* record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
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

static __always_inline void take_arguments(struct thread_state* state,
                                           const struct user_registers* registers) {
  state->arguments[0] = registers->rdi;
  state->arguments[1] = registers->rsi;
  state->arguments[2] = registers->rdx;
  state->arguments[3] = registers->r10;
  state->arguments[4] = registers->r8;
  state->arguments[5] = registers->r9;
}

/* The running thread's call with its handler, which is over. Not static: see is_late_by_glob(). */
__noinline int emit_handled_call(struct thread_state* state, struct call_handler* handler) {
  if (!want_stalls || !state || !handler) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu_ledger = this_cpu_ledger();
  u32 cpu = bpf_get_smp_processor_id();
  struct stall_scratch* scratch = bpf_map_lookup_elem(&stall_scratch, &cpu);
  void* ring = this_cpu_ring();
  if (!ledger || !cpu_ledger || !scratch || !ring) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  struct ledger_sums sums;
  read_ledger(ledger, cpu_ledger, now_ns, &sums);
  state->nr = handler->nr;
  state->abi = ABI_NATIVE;
  state->enter_ns = handler->call_ns;
  /* A call that was late at its end has been told of. */
  bool is_told = is_stall(task, state, ns_between(handler->call_ns, handler->begin_ns));
  if (is_told) state->enter_ns = handler->begin_ns;
  u64 latency_ns = ns_since_entry(state, now_ns);
  if (!is_stall(task, state, latency_ns)) return 0;
  if (!want_calls) {
    take_arguments(state, &handler->registers);
    remember_arguments(task, state);
    emit_call(task, state, now_ns, latency_ns, (s64)handler->registers.rax, 0);
  }
  emit_handler(task, state, handler, ring, now_ns);
  begin_span(&scratch->span, task, state, now_ns);
  if (is_told || handler->has_ledger) {
    subtract_sums(&sums, is_told ? &handler->at_begin : &handler->at_call);
    put_ledger(&scratch->span, &sums);
  }
  scratch->registers = handler->registers;
  add_user_side(scratch);
  return send_span(scratch, ring);
}

/* The running thread calls rt_sigreturn. */
static __noinline int end_handler(struct task_struct* task) {
  if (!task) return 0;
  struct call_handlers* all = find_of_thread(call_handlers, task);
  struct thread_state* state = find_of_thread(threads, task);
  if (!all || !all->count || !state || state->in_call != CALL_NONE) return 0;
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  u64 rsp;
  if (bpf_probe_read_user(&rsp, sizeof(rsp), (void*)(regs->sp + FRAME_RSP))) return 0;
  struct call_handler* handler = 0;
  for (u32 i = 0; i < HANDLERS_NESTED; i++) {
    if (i >= all->count || all->at[i].registers.rsp != rsp) continue;
    handler = &all->at[i];
    all->count = i;
  }
  if (handler && control.armed) emit_handled_call(state, handler);
  return 0;
}

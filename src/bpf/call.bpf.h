/* SPDX-License-Identifier: GPL-2.0 */
/* Open system calls of sessions that look for stalls. While a thread runs, the ledger of its CPU
 * holds the call, so that the begin and the end of a quick call need no look-up. While the thread
 * is off the CPU, the ledger of the thread holds the call. probes/syscalls begins and ends calls;
 * probes/sched moves them at context switches.
 *
 * A hardened kernel may hide a context switch. A CPU may therefore hold the call of a thread that
 * has left. The call stays there until a hook sees the thread again; meanwhile, the calls of other
 * threads on the CPU are in their thread_state or their ledger. thread_ledger.cpu names the CPU
 * that may hold the call.
 *
 * At the end of the session, the reader reports open calls while threads still leave theirs. From
 * shortly before, no call moves, a ledger keeps naming the CPU that holds its call, and each call
 * belongs to the side whose exchange of open_call.who succeeds. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/target.bpf.h"

enum call_claim {
  CLAIM_OF_READER = 1, /* the side whose exchange succeeds has the call */
  CLAIM_SETTLED = 2,   /* … and that side is the reader */
};

/* The mark of a thread and its CPU while `task` is a member of the target. */
static __always_inline u64 member_key(const struct task_struct* task) {
  return (u64)(control.releases + 1) << 32 | (u32)task->pid;
}

/* The begin of the last known call of the thread; 0: none. */
static __always_inline u64 begin_of_last_call(const struct thread_state* state,
                                              const struct thread_ledger* ledger) {
  u64 call_ns = ledger->last_call_ns;
  if (call_ns < ledger->call_ns) call_ns = ledger->call_ns;
  return call_ns < state->enter_ns ? state->enter_ns : call_ns;
}

/* The whole cost of a quick call at its begin. */
static __always_inline void begin_call_on_cpu(struct cpu_ledger* cpu,
                                              const struct task_struct* task, u32 nr, u16 abi,
                                              u64 now_ns) {
  cpu->calls++;
  cpu->call.begin_ns = now_ns;
  cpu->call.nr = nr;
  cpu->call.abi = abi;
  cpu->call.who = (u64)task;
  cpu->call_irq_ns = cpu->irq_ns;
  cpu->call_softirq_ns = cpu->softirq_ns;
}

/* The thread leaves the CPU: moves its call, if any, to its ledger. */
static __always_inline void take_call_away(struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                           const struct task_struct* task) {
  if (cpu->call.who != (u64)task || control.calls_stay) return;
  note_call(ledger, cpu);
  ledger->call = cpu->call;
  cpu->call.who = 0;
}

/* Null before Linux 5.19, which has no look-up by CPU. */
static __always_inline struct cpu_ledger* ledger_of_cpu(u32 cpu) {
  u32 zero = 0;
  if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem)) return 0;
  return bpf_map_lookup_percpu_elem(&cpu_ledgers, &zero, cpu);
}

/* A thread whose switch to this CPU was hidden left its call on the CPU where it was last seen. */
static __noinline int fetch_call(struct thread_ledger* ledger, struct task_struct* task) {
  if (!ledger || !task || control.calls_stay) return 0;
  struct cpu_ledger* there = ledger_of_cpu(ledger->cpu);
  if (there) take_call_away(ledger, there, task);
  return 0;
}

/* The thread is switched in on `cpu`, CPU number `number`: moves its call there. */
static __always_inline void bring_call(struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                       u32 number) {
  if (control.calls_stay) {
    cpu->member = 0; /* the next call looks up the ledger and sets its `cpu` */
    return;
  }
  ledger->cpu = number;
  cpu->member = ledger->member;
  if (!ledger->call.who || cpu->call.who) return;
  cpu->call = ledger->call;
  ledger->call.who = 0;
}

static __always_inline bool is_call_of(const struct open_call* call,
                                       const struct task_struct* task) {
  return (call->who & ~(u64)(CLAIM_OF_READER | CLAIM_SETTLED)) == (u64)task;
}

/* The open call of `task`, in its ledger or on its CPU; or null. */
static __always_inline struct open_call* find_call(struct thread_ledger* ledger,
                                                   const struct task_struct* task) {
  if (is_call_of(&ledger->call, task)) return &ledger->call;
  struct cpu_ledger* cpu = ledger_of_cpu(ledger->cpu);
  return cpu && is_call_of(&cpu->call, task) ? &cpu->call : 0;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* The system call in flight, where stalls are looked for. While its thread runs it is with the CPU,
 * so that nothing has to be looked up when it begins, nor when it ends and was quick; while the
 * thread is away, with the thread's ledger. probes/syscalls begins and ends it, probes/sched moves
 * it as threads come and go.
 *
 * A hardened kernel may keep a switch to itself. So a CPU may have the call of a thread that is not
 * there any more: it stays until that thread is seen again, and the calls of those that run there
 * meanwhile are in their thread_state or their ledger. A ledger says on which CPU to look.
 *
 * At the session's end the reader lists the open calls while threads still come out of theirs. From
 * before that on nothing is moved, a ledger goes on naming the CPU that has its call, and each call
 * goes to the one who exchanges its `who`. */
#pragma once

#include "bpf/ledger.bpf.h"
#include "bpf/target.bpf.h"

enum call_claim {
  CLAIM_OF_READER = 1, /* who exchanges it has the call */
  CLAIM_SETTLED = 2,   /* … and the reader has it */
};

/* What says that `task` is a member. */
static __always_inline u64 member_key(const struct task_struct* task) {
  return (u64)(control.releases + 1) << 32 | (u32)task->pid;
}

/* When the last call of the thread that is known of began; 0: there is none. */
static __always_inline u64 begin_of_last_call(const struct thread_state* state,
                                              const struct thread_ledger* ledger) {
  u64 call_ns = ledger->last_call_ns;
  if (call_ns < ledger->call_ns) call_ns = ledger->call_ns;
  return call_ns < state->enter_ns ? state->enter_ns : call_ns;
}

/* All that is paid by a call that is quick. */
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

/* The thread leaves: its call, if it is in one, goes with it. */
static __always_inline void take_call_away(struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                           const struct task_struct* task) {
  if (cpu->call.who != (u64)task || control.calls_stay) return;
  note_call(ledger, cpu);
  ledger->call = cpu->call;
  cpu->call.who = 0;
}

/* Null where the kernel cannot tell (before Linux 5.19). */
static __always_inline struct cpu_ledger* ledger_of_cpu(u32 cpu) {
  u32 zero = 0;
  if (!bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_map_lookup_percpu_elem)) return 0;
  return bpf_map_lookup_percpu_elem(&cpu_ledgers, &zero, cpu);
}

/* A thread that came here unseen left its call where it was last seen. */
static __noinline int fetch_call(struct thread_ledger* ledger, struct task_struct* task) {
  if (!ledger || !task || control.calls_stay) return 0;
  struct cpu_ledger* there = ledger_of_cpu(ledger->cpu);
  if (there) take_call_away(ledger, there, task);
  return 0;
}

/* The thread comes to `cpu`, whose number is `number`. */
static __always_inline void bring_call(struct thread_ledger* ledger, struct cpu_ledger* cpu,
                                       u32 number) {
  if (control.calls_stay) {
    cpu->member = 0; /* its next call looks the ledger up, and says where it is */
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

/* The call in which `task` is, wherever it is noted; or null. */
static __always_inline struct open_call* find_call(struct thread_ledger* ledger,
                                                   const struct task_struct* task) {
  if (is_call_of(&ledger->call, task)) return &ledger->call;
  struct cpu_ledger* cpu = ledger_of_cpu(ledger->cpu);
  return cpu && is_call_of(&cpu->call, task) ? &cpu->call : 0;
}

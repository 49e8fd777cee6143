/* SPDX-License-Identifier: GPL-2.0 */
/* Who is measured. A thread belongs to the target when it has a thread_state;
 * kernel/membership.bpf.c creates those, every probe only looks. */
#pragma once

#include "bpf/run_cost.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/thread_storage.bpf.h"

/* What the next exit of a thread is that is in no call we measure. */
enum fresh_kind {
  FRESH_NO = 0,      /* of a call that never began */
  FRESH_BORN = 1,    /* of the clone, or of the spawn gate's read */
  FRESH_ADOPTED = 2, /* of a call that began before the session, if the thread is in one: see
                        came_with() */
  FRESH_UNARMED = 3, /* of a call that began in a pause */
  FRESH_PASSED = 4,  /* of a call that is left out (-e, --cpu), or is counted already */
};

enum in_call_kind {
  CALL_NONE = 0,
  CALL_OPEN = 1,
  CALL_CLAIMED = 2, /* the session has ended: who exchanges this, thread or reader, has the call */
  CALL_LISTED = 3,  /* … and the reader has it */
};

/* Per thread: membership, and the system call in flight, which more than one probe asks for.
 * Written by its own thread, but for
 * - its creation, by whoever forks, renames or moves the thread, or by the reader's iterator. The
 *   kernel makes one state a thread, whoever comes first;
 * - cgroup_id and label_generation, by whoever moves or renames the thread. cgroup_id is one store,
 *   read whole; the generation is added to atomically and after it, so that an owner who has read
 *   the old cgroup sees another generation at its next call. (The kernel announces a rename before
 *   it writes the name: a thread renamed by another may keep the old one for an epoch.)
 * - in_call, by the reader once the session has ended: by exchanges, see take_call();
 * - cpu_ns_before and departures_before, when the thread has ended and runs no more. */
struct thread_state {
  u64 enter_ns; /* of the call in flight; before the first: when it was adopted, or left the call
                   with which that was */
  u64 cgroup_id;
  u64 cpu_ns_before;     /* CPU time used before adoption, or counted already */
  u64 departures_before; /* likewise, how often it has left the CPU */
  u64 arguments[6];      /* of the call in flight, where records are wanted; before the first: see
                            note_registers() */
  u32 nr;                /* of the call in flight */
  u32 in_call;           /* enum in_call_kind */
  u32 label_generation;  /* counts changes of name and cgroup, so that results stay with the label
                            they were made under */
  u32 caller;            /* of the call in flight, where those are wanted: see callers.h */
  u16 abi;
  u8 fresh;   /* enum fresh_kind */
  u8 refusal; /* enum syscall_call_flags of the last refused call */
};

THREAD_STORAGE(threads, HASH, struct thread_state);

/* Where a thread that is adopted has last entered the kernel: in its call, if it is in one. Of a
 * thread that runs on another CPU that is not known. */
static __always_inline void note_registers(struct thread_state* state, struct pt_regs* regs) {
  state->arguments[0] = regs->orig_ax;
  state->arguments[1] = regs->ip;
  state->arguments[2] = regs->sp;
}

/* Whether the call with these registers is the one with which the thread was adopted. */
static __always_inline bool came_with(const struct thread_state* state, struct pt_regs* regs) {
  return state->arguments[0] == regs->orig_ax && state->arguments[1] == regs->ip &&
         state->arguments[2] == regs->sp;
}

/* --cpu: only spans that begin on these CPUs. */
#define CPU_SET_WORDS 64
const volatile u8 cpus_limited;
const volatile u64 cpu_set[CPU_SET_WORDS];

static __always_inline bool cpu_wanted(void) {
  if (!cpus_limited) return true;
  u32 cpu = bpf_get_smp_processor_id();
  return cpu_set[(cpu >> 6) & (CPU_SET_WORDS - 1)] >> (cpu & 63) & 1;
}

/* The state of `task` where it belongs to the target, else null. A thread that no BPF program has
 * ever stored anything for is told by one load: that is what a bystander pays. */
static __always_inline struct thread_state* member_state(struct task_struct* task) {
  if (!may_be_kept(task)) return 0;
  return find_of_thread(threads, task);
}

/* Asked rarely, and by each program: so without may_be_kept(), for whose pointer the verifier goes
 * through the names of all the kernel's types several times (btf_nested_type_is_trusted()). */
static __always_inline bool runs_for_target(void) {
  return find_of_thread(threads, bpf_get_current_task_btf()) != 0;
}

/* True where the call in flight is the thread's own to end, as it always is while we measure. At
 * the session's end the reader lists the calls it finds open while threads still come out of
 * theirs: each call goes to one of the two. */
static __always_inline bool take_call(struct thread_state* state) {
  if (state->in_call == CALL_OPEN) return true;
  return state->in_call == CALL_CLAIMED &&
         __sync_val_compare_and_swap(&state->in_call, CALL_CLAIMED, CALL_NONE) == CALL_CLAIMED;
}

/* Fills who and where; the caller sets kind and size. The name is zeroed first: a string is copied
 * up to its NUL, and behind it would stand what the ring held before. */
static __always_inline void fill_who(struct event_header* header, struct task_struct* task,
                                     u64 cgroup_id, u64 now_ns) {
  header->time_ns = now_ns;
  header->cgroup_id = cgroup_id;
  header->pid = task->tgid;
  header->tid = task->pid;
  header->cpu = bpf_get_smp_processor_id();
  __builtin_memset(header->comm, 0, sizeof(header->comm));
  BPF_CORE_READ_STR_INTO(&header->comm, task, comm);
}

/* The same for a member. */
static __always_inline void fill_header(struct event_header* header, struct task_struct* task,
                                        const struct thread_state* state, u64 now_ns) {
  fill_who(header, task, state->cgroup_id, now_ns);
}

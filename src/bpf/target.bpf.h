/* SPDX-License-Identifier: GPL-2.0 */
/* The target: the measured threads. A thread belongs to the target if it has a thread_state.
 * kernel/membership.bpf.c creates the states; probes only look them up. */
#pragma once

#include "bpf/origin.h"
#include "bpf/run_cost.bpf.h"
#include "bpf/session.bpf.h"
#include "bpf/thread_storage.bpf.h"

/* The next call exit of a thread that is not in a measured call. */
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
  CALL_CLAIMED = 2, /* at the end of the session: the side, thread or reader, whose exchange
                       succeeds has the call */
  CALL_LISTED = 3,  /* … and that side is the reader */
};

/* Per thread: membership, and the open system call, which several probes need. Written by its own
 * thread, except for
 * - the creation, by the thread that forks, renames or moves this thread, or by the reader's
 *   iterator. The kernel makes one state per thread, whichever comes first;
 * - cgroup_id and label_generation, by the thread that moves or renames this thread. cgroup_id is
 *   stored and read whole. The generation is incremented atomically and after cgroup_id, so that a
 *   thread that has read the old cgroup sees a new generation at its next call. (The kernel
 *   announces a rename before it writes the name: a thread renamed by another thread may keep the
 *   old name for an epoch.)
 * - in_call, by the reader at the end of the session: by exchanges, see take_call();
 * - cpu_ns_before and departures_before, after the thread has ended. */
struct thread_state {
  u64 enter_ns; /* begin of the open call; before the first call: the adoption, or the end of the
                   call in which the thread was adopted */
  u64 cgroup_id;
  u64 cpu_ns_before;     /* CPU time in ns used before adoption, or counted already */
  u64 departures_before; /* context switches, likewise */
  u64 arguments[6];      /* of the open call, if records are wanted; before the first call: see
                            note_registers() */
  u32 nr;                /* number of the open call */
  u32 in_call;           /* enum in_call_kind */
  u32 label_generation;  /* number of changes of name and cgroup; keeps results with their label */
  u32 caller;            /* of the open call, if callers are wanted: see callers.h */
  u16 abi;
  u8 fresh;       /* enum fresh_kind */
  u8 refusal;     /* enum syscall_call_flags of the last refused call */
  u32 parent_pid; /* as in struct process_origin, from the adoption on; likewise the next two */
  u64 process_start_ns;
  char parent[COMM_SIZE];
};

THREAD_STORAGE(threads, HASH, struct thread_state);

/* Notes the registers with which an adopted thread last entered the kernel: those of its call, if
 * the thread is in one. They are not known for a thread that runs on another CPU. */
static __always_inline void note_registers(struct thread_state* state, struct pt_regs* regs) {
  state->arguments[0] = regs->orig_ax;
  state->arguments[1] = regs->ip;
  state->arguments[2] = regs->sp;
}

/* Whether the thread was adopted in the call with these registers. */
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

/* The state of `task` if it belongs to the target, else null. One load recognizes a thread for
 * which no BPF program has stored anything: the whole cost of a thread outside the target. */
static __always_inline struct thread_state* member_state(struct task_struct* task) {
  if (!may_be_kept(task)) return 0;
  return find_of_thread(threads, task);
}

/* Called rarely, but by every program. So may_be_kept() is not used: for its pointer, the verifier
 * searches the names of all kernel types several times (btf_nested_type_is_trusted()). */
static __always_inline bool runs_for_target(void) {
  return find_of_thread(threads, bpf_get_current_task_btf()) != 0;
}

/* True if the thread may end its open call, as always during a measurement. At the end of the
 * session, the reader reports open calls while threads still leave theirs: each call goes to one of
 * the two. */
static __always_inline bool take_call(struct thread_state* state) {
  if (state->in_call == CALL_OPEN) return true;
  return state->in_call == CALL_CLAIMED &&
         __sync_val_compare_and_swap(&state->in_call, CALL_CLAIMED, CALL_NONE) == CALL_CLAIMED;
}

/* Sets all of the header except kind and size, which the caller sets. The name is zeroed first,
 * since a string is copied only up to its NUL: old bytes of the ring buffer would follow it. */
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

/* `state` is that of `task`; null: the thread has left the target, and has no origin any more. */
static __always_inline void fill_origin(struct process_origin* origin, struct task_struct* task,
                                        const struct thread_state* state) {
  __builtin_memset(origin, 0, sizeof(*origin));
  if (!state) return;
  origin->is_known = 1;
  origin->start_ns = state->process_start_ns;
  origin->parent_pid = state->parent_pid;
  __builtin_memcpy(origin->parent, state->parent, COMM_SIZE);
  BPF_CORE_READ_STR_INTO(&origin->process, task, group_leader, comm);
}

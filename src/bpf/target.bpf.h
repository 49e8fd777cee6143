/* SPDX-License-Identifier: GPL-2.0 */
/* Who is measured. A thread belongs to the target when it has a thread_state;
 * kernel/membership.bpf.c creates those, every probe only looks. */
#pragma once

#include "bpf/session.bpf.h"

enum fresh_kind {
  FRESH_NO = 0,
  FRESH_BORN = 1, /* its next system call exit is that of the clone, or of the spawn gate's read */
  FRESH_ADOPTED = 2, /* … or of a call that began before the session: counted as cut */
};

/* Per thread: membership, and the system call in flight, which more than one probe asks for.
 * Written by its own thread only, but for its creation. */
struct thread_state {
  u64 enter_ns; /* of the call in flight; before the first: when it was adopted */
  u64 cgroup_id;
  u64 cpu_ns_before; /* CPU time used before adoption */
  u64 arguments[6];  /* of the call in flight, where records are wanted */
  u32 nr;            /* of the call in flight */
  u16 abi;
  u8 in_call;
  u8 fresh;            /* enum fresh_kind */
  u32 name_generation; /* counts renames, so that results stay with the name they were made under */
  u32 reserved;
};

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct thread_state);
} threads SEC(".maps");

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
  if (!task->bpf_storage) return 0;
  return bpf_task_storage_get(&threads, task, 0, 0);
}

/* Fills who and where; the caller sets kind and size. The name is zeroed first: a string is copied
 * up to its NUL, and behind it would stand what the ring held before. */
static __always_inline void fill_header(struct event_header* header, struct task_struct* task,
                                        const struct thread_state* state, u64 now_ns) {
  header->time_ns = now_ns;
  header->cgroup_id = state->cgroup_id;
  header->pid = task->tgid;
  header->tid = task->pid;
  header->cpu = bpf_get_smp_processor_id();
  __builtin_memset(header->comm, 0, sizeof(header->comm));
  BPF_CORE_READ_STR_INTO(&header->comm, task, comm);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* What a session keeps of threads, by task_struct: task storage, but with PREEMPT_RT a hash table.
 *
 * A new element of task storage is allocated under a raw lock, and for programs on tracepoints with
 * preemption off, while with PREEMPT_RT the allocator's own locks sleep: a fork under load is
 * "scheduling while atomic", and the end of the machine (6.1 to 6.3; later kernels have other
 * allocators for it). Tables have all their memory from the beginning. They cost every bystander a
 * look-up, where task storage is told to be empty by one load; what is in them has to be
 * deleted when its thread is freed; and threads beyond their size, which user space decides
 * (hashed_threads()), are counted as COUNTER_TASK_STORAGE. */
#pragma once

#include "bpf/kernel.h"

/* include/linux/spinlock_types.h: it sleeps where it is one of these. */
struct rt_mutex_base___any {
  int fields;
};
struct spinlock___rt {
  struct rt_mutex_base___any lock;
} __attribute__((preserve_access_index));

/* Known when a program is loaded: the other branch is not there. */
static __always_inline bool threads_are_hashed(void) {
  return bpf_core_field_exists(((struct spinlock___rt*)0)->lock);
}

#define THREAD_STORAGE(name, hash_type, of)  \
  struct {                                   \
    __uint(type, BPF_MAP_TYPE_TASK_STORAGE); \
    __uint(map_flags, BPF_F_NO_PREALLOC);    \
    __type(key, int);                        \
    __type(value, of);                       \
  } name SEC(".maps");                       \
  struct {                                   \
    __uint(type, BPF_MAP_TYPE_##hash_type);  \
    __uint(max_entries, 1);                  \
    __type(key, u64);                        \
    __type(value, of);                       \
  } name##_hashed SEC(".maps")

static __always_inline void* find_hashed(void* map, struct task_struct* task) {
  u64 key = (u64)task;
  return bpf_map_lookup_elem(map, &key);
}

static __always_inline void* make_hashed(void* map, struct task_struct* task, const void* initial) {
  u64 key = (u64)task;
  bpf_map_update_elem(map, &key, initial, BPF_NOEXIST); /* or somebody else has */
  return bpf_map_lookup_elem(map, &key);
}

/* What is kept of `task`, or null. */
#define find_of_thread(name, task)                          \
  (threads_are_hashed() ? find_hashed(&name##_hashed, task) \
                        : bpf_task_storage_get(&name, task, 0, 0))

/* The same, made of `initial` where there is none; null where there is no room. */
#define make_of_thread(name, task, initial)         \
  (threads_are_hashed()                             \
       ? make_hashed(&name##_hashed, task, initial) \
       : bpf_task_storage_get(&name, task, (void*)(initial), BPF_LOCAL_STORAGE_GET_F_CREATE))

/* False where nothing is kept of `task` for sure: that is all a bystander costs. */
#define may_be_kept(task) (threads_are_hashed() || (task)->bpf_storage)

/* With PREEMPT_RT, when the thread is freed. */
#define forget_thread(name, task)                                          \
  do {                                                                     \
    u64 freed = (u64)(task);                                               \
    if (threads_are_hashed()) bpf_map_delete_elem(&name##_hashed, &freed); \
  } while (0)

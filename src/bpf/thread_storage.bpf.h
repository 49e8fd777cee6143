/* SPDX-License-Identifier: GPL-2.0 */
/* Data of threads by task_struct: task storage, or with PREEMPT_RT a hash table.
 *
 * The kernel allocates an element of task storage under a raw lock, and in programs of tracepoints
 * with preemption off. With PREEMPT_RT, the locks of the allocator sleep: a fork under load is then
 * "scheduling while atomic" and crashes the machine (6.1 to 6.3; later kernels use other
 * allocators). A hash table has all its memory from the beginning. But it costs each thread outside
 * the target a look-up, where one load shows that task storage is empty; its elements must be
 * deleted when their threads are freed; and threads beyond its size, which user space sets
 * (hashed_threads()), are counted as COUNTER_TASK_STORAGE. */
#pragma once

#include "bpf/kernel.h"

/* include/linux/spinlock_types.h: a spinlock sleeps if it contains one of these. */
struct rt_mutex_base___any {
  int fields;
};
struct spinlock___rt {
  struct rt_mutex_base___any lock;
} __attribute__((preserve_access_index));

/* Constant from the load of a program on: the verifier removes the other branch. */
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
  bpf_map_update_elem(map, &key, initial, BPF_NOEXIST); /* or another CPU has */
  return bpf_map_lookup_elem(map, &key);
}

/* The data of `task`, or null. */
#define find_of_thread(name, task)                          \
  (threads_are_hashed() ? find_hashed(&name##_hashed, task) \
                        : bpf_task_storage_get(&name, task, 0, 0))

/* The data of `task`, created from `initial` if missing; null if there is no room. */
#define make_of_thread(name, task, initial)         \
  (threads_are_hashed()                             \
       ? make_hashed(&name##_hashed, task, initial) \
       : bpf_task_storage_get(&name, task, (void*)(initial), BPF_LOCAL_STORAGE_GET_F_CREATE))

/* False only if `task` has no data: the whole cost of a thread outside the target. */
#define may_be_kept(task) (threads_are_hashed() || (task)->bpf_storage)

/* Called when the thread is freed; needed with PREEMPT_RT only. */
#define forget_thread(name, task)                                          \
  do {                                                                     \
    u64 freed = (u64)(task);                                               \
    if (threads_are_hashed()) bpf_map_delete_elem(&name##_hashed, &freed); \
  } while (0)

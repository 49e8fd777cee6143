// SPDX-License-Identifier: GPL-2.0
// For session_test: a program that triggers its own tracepoint, like a program that an interrupt
// nests in. bpf_find_vma() takes the lock that the tracepoint reports.
#include "bpf/session.bpf.h"

u32 looked_at; /* the process */
u32 runs;
u32 nested_runs;
u32 inside;

static long ignore(struct task_struct* task, struct vm_area_struct* area, void* context) {
  return 0;
}

SEC("tp_btf/mmap_lock_acquire_returned")
int on_memory_locked(u64* ctx) {
  struct task_struct* task = bpf_get_current_task_btf();
  if (task->tgid != (int)looked_at) return 0;
  if (inside) { /* kernels before 6.2 do not skip the nested run */
    nested_runs++;
    return 0;
  }
  runs++;
  inside = 1;
  u32 unused = 0;
  bpf_find_vma(task, 0, ignore, &unused, 0);
  inside = 0;
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

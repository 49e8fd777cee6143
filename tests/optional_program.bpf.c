// SPDX-License-Identifier: GPL-2.0
// For contract_test: an object that was built against types that no kernel has.
#include "bpf/kernel.h"

/* Every kernel has it, and with four arguments. */
extern long vfs_read(int file) OPTIONAL_FUNCTION;

/* Every kernel has the field, but none has it this long: a direct load cannot adapt to it. */
struct task_struct___changed {
  s64 on_cpu;
} __attribute__((preserve_access_index));

u64 switches;

SEC("?tp_btf/sched_switch")
int fits(u64* ctx) {
  __sync_fetch_and_add(&switches, 1);
  return 0;
}

SEC("?tp_btf/sched_switch")
int reads_changed_field(u64* ctx) {
  struct task_struct___changed* task = (void*)ctx[1];
  if (task->on_cpu) __sync_fetch_and_add(&switches, 1);
  return 0;
}

SEC("?tp_btf/sched_switch")
int calls_unlike_function(u64* ctx) {
  return vfs_read(0) > 0;
}

char LICENSE[] SEC("license") = "GPL";

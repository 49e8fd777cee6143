/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels and architectures. */
#pragma once

#include "bpf/kernel.h"

#if !defined(__TARGET_ARCH_x86)
#error "system call arguments and ABIs are known for x86-64 only; add the architecture here"
#endif

#define PF_KTHREAD 0x00200000       /* include/linux/sched.h */
#define TS_COMPAT 0x0002            /* arch/x86/include/asm/thread_info.h */
#define X32_SYSCALL_BIT 0x40000000u /* arch/x86/include/uapi/asm/unistd.h */

#define RT_SIGRETURN 15 /* arch/x86/entry/syscalls/syscall_64.tbl */
#define EXECVE 59
#define EXECVEAT 322
#define COMPAT_EXECVE 11 /* arch/x86/entry/syscalls/syscall_32.tbl */
#define COMPAT_EXECVEAT 358

/* 2f064a59a11f ("sched: Change task_struct::state", v5.14) renamed and shrank the field. */
struct task_struct___before_5_14 {
  long state;
} __attribute__((preserve_access_index));

static __always_inline bool is_asleep(struct task_struct* task) {
  if (bpf_core_field_exists(task->__state)) return task->__state != 0;
  return BPF_CORE_READ((struct task_struct___before_5_14*)task, state) != 0;
}

/* True while the thread is inside a system call made through a 32-bit entry. */
static __always_inline bool in_compat_syscall(struct task_struct* task) {
  return task->thread_info.status & TS_COMPAT;
}

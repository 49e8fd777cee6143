/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels and architectures. */
#pragma once

#include "bpf/kernel.h"

#if !defined(__TARGET_ARCH_x86)
#error "system call arguments and ABIs are known for x86-64 only; add the architecture here"
#endif

/* include/linux/sched.h */
#define PF_EXITING 0x00000004
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000 /* before 5.17 PF_USED_ASYNC: the thread loads modules */
#define PF_KTHREAD 0x00200000

#define TS_COMPAT 0x0002            /* arch/x86/include/asm/thread_info.h */
#define X32_SYSCALL_BIT 0x40000000u /* arch/x86/include/uapi/asm/unistd.h */

#define RT_SIGRETURN 15 /* arch/x86/entry/syscalls/syscall_64.tbl */
#define SYS_MMAP 9
#define SYS_MPROTECT 10
#define SYS_MREMAP 25
#define SYS_SHMAT 30
#define SYS_PKEY_MPROTECT 329
#define SYS_PRCTL 157
#define SYS_SECCOMP 317
#define EXECVE 59
#define EXECVEAT 322
#define COMPAT_EXECVE 11 /* arch/x86/entry/syscalls/syscall_32.tbl */
#define COMPAT_EXECVEAT 358
#define COMPAT_PRCTL 172
#define COMPAT_SECCOMP 354

#define PR_SET_SECCOMP 22 /* include/uapi/linux/prctl.h */
#define PROT_EXEC 0x4     /* include/uapi/asm-generic/mman-common.h */
#define SHM_EXEC 0100000  /* include/uapi/linux/shm.h */

/* The thread is exiting: it makes no more calls, and its registers may be gone. */
static __always_inline bool is_exiting(struct task_struct* task) {
  return task->flags & PF_EXITING;
}

/* A kernel thread, or a thread of a process without user mode (io_uring, vhost). Such a thread is
 * never in a system call, whatever its registers hold. */
static __always_inline bool has_no_user_side(struct task_struct* task) {
  return task->flags & (PF_KTHREAD | PF_IO_WORKER | PF_USER_WORKER);
}

static __always_inline bool is_of_kernel(struct task_struct* task) {
  return (task->flags & PF_KTHREAD) != 0;
}

/* The arguments of a native call. */
static __always_inline void copy_native_arguments(u64* to, const struct pt_regs* regs) {
  to[0] = regs->di;
  to[1] = regs->si;
  to[2] = regs->dx;
  to[3] = regs->r10;
  to[4] = regs->r8;
  to[5] = regs->r9;
}

/* True while the thread is inside a system call made through a 32-bit entry. */
static __always_inline bool in_compat_syscall(struct task_struct* task) {
  return task->thread_info.status & TS_COMPAT;
}

#define USER32_CS 0x23 /* arch/x86/include/asm/segment.h */

/* The user mode of the thread is 32-bit code. */
static __always_inline bool has_32_bit_registers(struct task_struct* task) {
  return ((struct pt_regs*)bpf_task_pt_regs(task))->cs == USER32_CS;
}

/* Commit f3fa33acca9f ("block: remove the ->rq_disk field in struct request", 5.17). */
struct request___before_5_17 {
  struct gendisk* rq_disk;
} __attribute__((preserve_access_index));

static __always_inline struct gendisk* disk_of(struct request* request) {
  struct request___before_5_17* old = (void*)request;
  if (bpf_core_field_exists(old->rq_disk)) return BPF_CORE_READ(old, rq_disk);
  return BPF_CORE_READ(request, q, disk);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* The kernel types our programs read, and only the fields they read. CO-RE finds the real offsets
 * when a program loads, so a declaration here names a dependency, not a layout. */
#pragma once

/* Headers of Linux 6.18 and later have this type; a probe declares it, for older headers. */
#define bpf_task_work bpf_task_work___uapi
#include <linux/bpf.h>
#undef bpf_task_work
#include <stdbool.h>

#include "bpf/wire.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/kernel_files.h"
#include "bpf/kernel_sockets.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* x86-64; the kernel's field names, not those of <linux/ptrace.h>. */
struct pt_regs {
  unsigned long orig_ax;
  unsigned long ip;
  u16 cs; /* unsigned long before 6.9: its lower half */
  unsigned long sp;
  unsigned long ax;
  unsigned long r15;
  unsigned long r14;
  unsigned long r13;
  unsigned long r12;
  unsigned long r11;
  unsigned long r9;
  unsigned long r8;
  unsigned long r10;
  unsigned long bp;
  unsigned long bx;
  unsigned long cx;
  unsigned long dx;
  unsigned long si;
  unsigned long di;
};

struct kernel_siginfo;

struct sigaction {
  void* sa_handler;
};

struct k_sigaction {
  struct sigaction sa;
};

struct thread_info {
  unsigned long flags;
  u32 status;
  u32 cpu;
};

struct kernfs_node {
  u64 id;
  const char* name;
};

struct cgroup_root {
  int hierarchy_id;
};

struct cgroup;

struct cgroup_subsys_state {
  struct cgroup* cgroup;
  struct cgroup_subsys_state* parent;
};

struct cgroup {
  struct cgroup_subsys_state
      self; /* first member: a css pointer to it is a pointer to the cgroup */
  struct kernfs_node* kn;
  struct cgroup_root* root;
};

struct css_set {
  struct cgroup_subsys_state* subsys[12];
  struct cgroup* dfl_cgrp;
};

struct rq;
struct task_group;

/* With CONFIG_RT_GROUP_SCHED only. */
struct rt_bandwidth {
  u64 rt_runtime; /* ns of each period */
  s64 rt_period;
};

struct rt_rq {
  unsigned int rt_throttled; /* int; since Linux 6.12 with CONFIG_RT_GROUP_SCHED only */
  struct task_group* tg;     /* with CONFIG_RT_GROUP_SCHED only */
};

struct sched_rt_entity {
  struct sched_rt_entity* parent; /* as in sched_entity; both with CONFIG_RT_GROUP_SCHED only */
  struct rt_rq* rt_rq;
};

/* With CONFIG_CFS_BANDWIDTH only. */
struct cfs_bandwidth {
  u64 quota; /* ns of each period; all ones: none */
  s64 period;
};

struct task_group {
  struct cgroup_subsys_state css;
  struct cfs_rq** cfs_rq; /* by CPU; before 7.x */
  struct task_group* parent;
  struct cfs_bandwidth cfs_bandwidth;
  struct rt_bandwidth rt_bandwidth;
};

struct cfs_rq {
  struct rq* rq;
  struct task_group* tg;
  int throttled;                 /* by the quota of its own group */
  int throttle_count;            /* number of throttled groups: its own and those above */
  u64 throttled_clock_self;      /* begin of the throttling, by rq.clock; 0: not throttled */
  u64 throttled_clock_self_time; /* ns throttled before */
};

struct sched_entity {
  struct cfs_rq* cfs_rq;       /* with groups of tasks only */
  struct sched_entity* parent; /* entity of the queue's group on the same CPU; likewise */
  u64 sum_exec_runtime;
  u64 vruntime;
};

/* With CONFIG_SCHED_INFO only. */
struct sched_info {
  u64 last_arrival;
  u64 last_queued;
};

struct bpf_local_storage;

typedef struct {
  u32 val;
} kuid_t;

struct cred {
  kuid_t uid;
};

struct mm_struct {
  unsigned long start_code; /* of the executed program, not of its libraries */
  unsigned long end_code;
  unsigned long start_stack;
};

/* x86-64 only. */
struct thread_struct {
  unsigned long fsbase;
};

/* Empty without CONFIG_SECCOMP. */
struct seccomp {
  int mode;
};

typedef struct {
  unsigned long sig[1];
} sigset_t;

struct sigpending {
  sigset_t signal;
};

struct callback_head {
  struct callback_head* next;
};

struct task_struct {
  struct thread_info thread_info;
  unsigned int __state;
  unsigned int flags;
  unsigned int on_cpu; /* u8 in 7.2: a direct load of an unsigned field adapts its size */
  unsigned int on_rq;
  int prio;
  int static_prio;
  unsigned int rt_priority;
  unsigned int policy;
  int pid;
  int tgid;
  u64 start_time;
  u64 self_exec_id; /* u32 before 5.7: a direct load adapts its size */
  struct task_struct* real_parent;
  struct task_struct* parent; /* while `ptrace` is set: the tracer */
  struct task_struct* group_leader;
  struct mm_struct* mm;
  struct files_struct* files;
  struct fs_struct* fs;
  const struct cred* cred;
  char comm[16];
  struct sched_entity se;
  struct sched_rt_entity rt;
  unsigned long nvcsw; /* context switches, voluntary and involuntary */
  unsigned long nivcsw;
  struct sched_info sched_info;
  struct css_set* cgroups;
  bool throttled;                           /* Linux 6.18 */
  struct callback_head sched_throttle_work; /* likewise; points to itself unless queued */
  unsigned int ptrace;                      /* 0: no tracer */
  unsigned int exit_code;                   /* as for wait(2); of a thread that ends */
  unsigned int pagefault_disabled; /* not 0: faults fail, and are no faults of the thread */
  unsigned int in_iowait : 1;      /* of its present wait: for a disk */
  struct seccomp seccomp;
  struct sigpending pending; /* of this thread alone */
  struct bpf_local_storage* bpf_storage;
  struct thread_struct thread;
};

struct rq {
  struct task_struct* curr;
  u64 clock;
  int cpu;
  struct rt_rq rt;
};

struct vm_area_struct {
  unsigned long vm_end;
  struct file* vm_file;
};

struct irqaction {
  const char* name;
  struct task_struct* thread;
};

struct seq_file;

struct bpf_iter_meta {
  struct seq_file* seq;
};

struct bpf_iter__task {
  struct bpf_iter_meta* meta;
  struct task_struct* task;
};

/* Types of the span probes: timers, work, block requests. */
struct timerqueue_node {
  s64 expires;
};

struct hrtimer_clock_base {
  s64 offset; /* from CLOCK_MONOTONIC */
};

struct hrtimer {
  struct timerqueue_node node; /* latest expiry */
  s64 _softexpires;            /* earliest expiry */
  void* function;
  struct hrtimer_clock_base* base;
  u8 is_soft;
};

struct hrtimer_sleeper {
  struct task_struct* task;
};

struct work_struct {
  struct {
    long long counter;
  } data;
  void* func;
};

struct workqueue_struct {
  char name[32];
};

struct pool_workqueue {
  struct workqueue_struct* wq;
};

struct gendisk {
  int major;
  int first_minor;
  char disk_name[32];
};

struct request_queue {
  struct gendisk* disk;
};

struct request {
  struct request_queue* q;
  unsigned int cmd_flags;
  unsigned int __data_len;
  u64 __sector;
  u64 start_time_ns;
};

#pragma clang attribute pop

#include <bpf/bpf_tracing.h>

/* A kernel function that some kernels lack, or have with another prototype. If the prototype
 * differs, the loader makes the function absent (kernel/extern_functions.h). A program that calls
 * the function is loaded only if Skeleton::can_call() is true. tools/kernel_drift reads the tag. */
#define OPTIONAL_FUNCTION __weak __ksym __attribute__((btf_decl_tag("optional")))
/* A function of which only the presence matters: programs need not be allowed to call it. */
#define NEVER_CALLED __attribute__((btf_decl_tag("never called")))

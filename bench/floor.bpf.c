// SPDX-License-Identifier: GPL-2.0
// The floor: the least cost of any tracer of system calls. A variant is a hook or a pair of hooks.
// floor.cc loads the variants that it is asked for, and attaches one variant at a time.
#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

#define THREAD_SLOTS \
  65536  // a thread's slot is its tid modulo this: a floor need not be right, only cheap
#define SYSCALL_SLOTS 512

struct call_start {
  __u64 time_ns;
  __u64 nr;
};

struct call_total {
  __u64 calls;
  __u64 total_ns;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, THREAD_SLOTS);
  __type(key, __u32);
  __type(value, struct call_start);
} starts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, SYSCALL_SLOTS);
  __type(key, __u32);
  __type(value, struct call_total);
} totals SEC(".maps");

SEC("?tp_btf/sys_enter")
int empty_enter(void* context) {
  return 0;
}

SEC("?tp_btf/sys_exit")
int empty_exit(void* context) {
  return 0;
}

// The compiler cannot remove a helper call, so the clock is read although the result is unused.
SEC("?tp_btf/sys_enter")
int clock_enter(void* context) {
  bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/sys_exit")
int clock_exit(void* context) {
  bpf_ktime_get_ns();
  return 0;
}

// The arguments of sys_enter are (struct pt_regs *regs, long nr).
SEC("?tp_btf/sys_enter")
int array_enter(__u64* arguments) {
  __u32 slot = (__u32)bpf_get_current_pid_tgid() % THREAD_SLOTS;
  struct call_start* start = bpf_map_lookup_elem(&starts, &slot);
  if (!start) return 0;
  start->nr = arguments[1];
  start->time_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/sys_exit")
int array_exit(__u64* arguments) {
  __u64 now_ns = bpf_ktime_get_ns();
  __u32 slot = (__u32)bpf_get_current_pid_tgid() % THREAD_SLOTS;
  struct call_start* start = bpf_map_lookup_elem(&starts, &slot);
  if (!start) return 0;
  __u32 nr = (__u32)start->nr % SYSCALL_SLOTS;
  struct call_total* total = bpf_map_lookup_elem(&totals, &nr);
  if (!total) return 0;
  total->calls++;
  total->total_ns += now_ns - start->time_ns;
  return 0;
}

// The least cost, on top of empty_*, of measuring run times, waits and wakers of threads.
SEC("?tp_btf/sched_switch")
int clock_switch(void* context) {
  bpf_ktime_get_ns();
  return 0;
}

SEC("?tp_btf/sched_waking")
int empty_waking(void* context) {
  return 0;
}

// The least work, on top of the above, of keeping the run time and the waker of each thread, and
// the call in flight on each CPU.
struct task_struct {
  int pid;
} __attribute__((preserve_access_index));

struct thread_words {
  __u64 since_ns;
  __u64 ran_ns;
  __u64 waited_ns;
  __u64 waker;
};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, THREAD_SLOTS);
  __type(key, __u32);
  __type(value, struct thread_words);
} threads SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, __u32);
  __type(value, struct call_start);
} calls SEC(".maps");

static __always_inline struct call_start* call_here(void) {
  __u32 zero = 0;
  return bpf_map_lookup_elem(&calls, &zero);
}

static __always_inline struct thread_words* words_of(struct task_struct* task) {
  __u32 slot = (__u32)task->pid % THREAD_SLOTS;
  return bpf_map_lookup_elem(&threads, &slot);
}

SEC("?tp_btf/sys_enter")
int ledger_enter(__u64* arguments) {
  struct call_start* call = call_here();
  if (!call) return 0;
  call->time_ns = bpf_ktime_get_ns();
  call->nr = arguments[1];
  return 0;
}

SEC("?tp_btf/sys_exit")
int ledger_exit(__u64* arguments) {
  struct call_start* call = call_here();
  if (call) call->time_ns = 0;
  return 0;
}

// The arguments of sched_switch are (bool preempt, struct task_struct *prev, … *next, …).
SEC("?tp_btf/sched_switch")
int ledger_switch(__u64* arguments) {
  __u64 now_ns = bpf_ktime_get_ns();
  struct thread_words* prev = words_of((struct task_struct*)arguments[1]);
  struct thread_words* next = words_of((struct task_struct*)arguments[2]);
  if (!prev || !next) return 0;
  prev->ran_ns += now_ns - prev->since_ns;
  prev->since_ns = now_ns;
  next->waited_ns += now_ns - next->since_ns;
  next->since_ns = now_ns;
  return 0;
}

SEC("?tp_btf/sched_waking")
int ledger_waking(__u64* arguments) {
  struct thread_words* words = words_of((struct task_struct*)arguments[0]);
  if (words) words->waker = bpf_get_current_pid_tgid();
  return 0;
}

// No workload calls pivot_root, so these programs never run. They measure the cost of being
// attached: every system call of every process then takes the slow path.
SEC("?tp/syscalls/sys_enter_pivot_root")
int foreign_enter(void* context) {
  return 0;
}

SEC("?tp/syscalls/sys_exit_pivot_root")
int foreign_exit(void* context) {
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// What has the CPUs of busy workload threads, one thread per CPU: written where the thread itself
// reads it when it has noticed a noise.
#include "bpf/osnoise.h"
#include "bpf/compat.bpf.h"
#include "bpf/origin.bpf.h"
#include "bpf/session.bpf.h"

#define NOISES_MAX OSNOISE_NOISES_MAX
#include "bpf/noise.bpf.h"

const volatile u8 origins_wanted; /* those of the threads that make noise */

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct osnoise_cpu);
} cpus SEC(".maps");

static __always_inline struct osnoise_cpu* cpu_here(void) {
  u32 at = bpf_get_smp_processor_id();
  struct osnoise_cpu* cpu = bpf_map_lookup_elem(&cpus, &at);
  if (!cpu || !cpu->tid) return 0;
  cpu->marks.runs++;
  return cpu;
}

/* Does not check whether the session is armed: the thread sets `tid`, and knows what it missed. */
static __always_inline struct noise_log* noise_log_here(void) {
  struct osnoise_cpu* cpu = cpu_here();
  return cpu ? (struct noise_log*)&cpu->marks : 0;
}

/* The thread itself sees when nothing happens. */
static __always_inline void note_event(struct noise_log* log, u64 now_ns, bool enters) {}

/* At the end of the noise: a thread that is about to end has its parent still. */
static __always_inline void note_origin(struct noise_origin* to, struct task_struct* task) {
  __builtin_memset(to, 0, sizeof(*to));
  struct process_origin* origin = &to->origin;
  origin->start_ns = BPF_CORE_READ(task, group_leader, start_time);
  struct task_struct* starter = starter_of(task, origin->start_ns);
  origin->parent_pid = BPF_CORE_READ(starter, tgid);
  BPF_CORE_READ_STR_INTO(&origin->parent, starter, comm);
  BPF_CORE_READ_STR_INTO(&origin->process, task, group_leader, comm);
  origin->is_known = 1;
  struct cgroup* cgroup = watched_cgroup(task);
  if (cgroup) to->cgroup_id = BPF_CORE_READ(cgroup, kn, id);
  to->pid = task->tgid;
  to->tid = task->pid;
  to->of_kernel = is_of_kernel(task);
}

SEC("tp_btf/sched_switch")
int COUNTED_PROG(noise_switch) {
  u64 now_ns = bpf_ktime_get_ns();
  struct osnoise_cpu* cpu = cpu_here();
  if (!cpu) return 0;
  struct task_struct* prev = (struct task_struct*)ctx[1];
  u32 place = cpu->marks.count;
  note_switch((struct noise_log*)&cpu->marks, prev, (struct task_struct*)ctx[2], cpu->tid, now_ns);
  /* If an NMI has come in between, the place is that of the NMI, and the thread has no origin. */
  if (origins_wanted && cpu->marks.count != place)
    note_origin(&cpu->origins[place & (OSNOISE_NOISES_MAX - 1)], prev);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// What has the CPUs of busy workload threads, one thread per CPU: written where the thread itself
// reads it when it has noticed a noise.
#include "bpf/osnoise.h"
#include "bpf/session.bpf.h"

#define NOISES_MAX OSNOISE_NOISES_MAX
#include "bpf/noise.bpf.h"

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

SEC("tp_btf/sched_switch")
int COUNTED_PROG(noise_switch) {
  u64 now_ns = bpf_ktime_get_ns();
  struct osnoise_cpu* cpu = cpu_here();
  if (!cpu) return 0;
  note_switch((struct noise_log*)&cpu->marks, (struct task_struct*)ctx[1],
              (struct task_struct*)ctx[2], cpu->tid, now_ns);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

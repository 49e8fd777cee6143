// SPDX-License-Identifier: GPL-2.0
// How late the timers of real-time workload threads expire, one thread per CPU, and how late the
// threads run then; and what had the CPUs meanwhile. All state of a CPU is written on that CPU; a
// hook can only be interrupted by a hook of another kind.
#include "bpf/timerlat.h"
#include "bpf/compat.bpf.h"
#include "bpf/per_cpu.bpf.h"
#include "bpf/session.bpf.h"

#define NOISES_MAX TIMERLAT_NOISES_MAX
#include "bpf/noise.bpf.h"

const volatile u64 stop_irq_ns; /* 0: never */
const volatile u64 stop_total_ns;
const volatile u64 stop_user_ns;
const volatile u8 stacks_wanted;  /* for every activation, because any may still become late */
const volatile u64 stack_over_ns; /* 0: only the activation over a limit has its stack */
const volatile u64 silence_ns;    /* silences of a CPU this long are kept; 0: none */

u32 stopping; /* 1 + the CPU whose activation was over a limit; no others are reported */
u32 finished; /* 1: that activation has been reported */
struct timerlat_slot slots[TIMERLAT_CPUS_MAX];

extern const void hrtimer_wakeup __ksym __weak;

#define CPUTIME_STEAL 7 /* include/linux/kernel_stat.h */

struct frames {
  u64 count;
  u64 at[KERNEL_FRAMES_MAX];
};

/* State of a CPU. Members that every hook needs come first. */
struct cpu_state {
  struct noise_log log;
  u64 seen_ns;                    /* time of the latest event */
  u64 base;                       /* base address of this CPU's variables; 0: unknown */
  u64 steal_ns;                   /* stolen time so far */
  u64 task;                       /* the workload thread, once its timer has expired */
  u64 activations;                /* number of activations so far */
  struct timerlat_activation now; /* the open one; expires_ns 0: none */
  struct frames stack;
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_state);
} cpus SEC(".maps");

struct activation_record {
  struct timerlat_activation activation;
  struct timerlat_noise noises[TIMERLAT_NOISES_MAX];
  u64 frames[KERNEL_FRAMES_MAX];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct activation_record);
} scratch SEC(".maps");

static __always_inline struct timerlat_slot* slot_here(void) {
  u32 cpu = bpf_get_smp_processor_id();
  barrier_var(cpu);
  return &slots[cpu & (TIMERLAT_CPUS_MAX - 1)];
}

/* Null if nothing is measured here. Whether the activation is still wanted is checked when it is
 * reported: what this check reads is in no cache when an idle CPU is interrupted, and would be part
 * of the latency. */
static __always_inline struct cpu_state* this_cpu(void) {
  u32 zero = 0;
  if (!slot_here()->tid) return 0;
  return bpf_map_lookup_elem(&cpus, &zero);
}

static __always_inline struct noise_log* noise_log_here(void) {
  struct cpu_state* cpu = this_cpu();
  return cpu ? &cpu->log : 0;
}

static __noinline int keep_silence(u64 begin_ns, u64 end_ns, u32 flags) {
  struct timerlat_slot* slot = slot_here();
  u32 place = slot->silences++;
  barrier_var(place);
  struct timerlat_silence* silence = &slot->silence[place & (SILENCES_KEPT - 1)];
  silence->begin_ns = begin_ns;
  silence->end_ns = end_ns;
  silence->flags = flags;
  return 0;
}

static __always_inline void note_event(struct noise_log* log, u64 now_ns, bool enters) {
  struct cpu_state* cpu = (struct cpu_state*)log; /* the log is its first member */
  u64 before_ns = cpu->seen_ns;
  cpu->seen_ns = now_ns;
  /* An event that was interrupted itself may come after a later one. */
  if (!silence_ns || !before_ns || (s64)(now_ns - before_ns) < (s64)silence_ns) return;
  bool ready = enters && (!bpf_get_current_task_btf()->pid || user_mode_interrupted(cpu->base));
  keep_silence(before_ns, now_ns, ready ? SILENCE_READY : 0);
}

/* The CPU's preempt count now; see ACTIVATION_NO_CONTEXT. */
static __always_inline u32 preempt_count_of(struct cpu_state* cpu) {
  u32 value = 0;
  read_preempt_count(cpu->base, &value);
  return value;
}

static __always_inline u64 stolen_ns(struct cpu_state* cpu) {
  u64 value = 0, at = cpu->base + per_cpu.cpustat + CPUTIME_STEAL * 8;
  if (cpu->base && per_cpu.cpustat) bpf_probe_read_kernel(&value, sizeof(value), (void*)at);
  return value;
}

/* Copies the noises that ended after `from_ns`, newest first. */
static __always_inline void copy_noises(struct activation_record* record, struct cpu_state* cpu,
                                        u64 from_ns) {
  u32 noises = cpu->log.marks.count;
  for (u32 i = 0; i < TIMERLAT_NOISES_MAX; i++) {
    if (i >= noises) return;
    u32 place = noises - 1 - i;
    barrier_var(place);
    struct timerlat_noise* noise = &cpu->log.noises[place & (TIMERLAT_NOISES_MAX - 1)];
    if (noise->end_ns <= from_ns) return;
    record->noises[i] = *noise;
    record->activation.noises = i + 1;
  }
  record->activation.flags |= ACTIVATION_CUT;
  count(COUNTER_UNMATCHED, 1);
}

/* Not before all hooks are attached, nor after an activation was over a limit, except for that
 * one. */
static __always_inline bool is_wanted(void) {
  return control.armed && !finished && (!stopping || stopping == bpf_get_smp_processor_id() + 1);
}

/* True if the activation is over a limit, and is the first one of all CPUs that is. */
static __always_inline bool begin_stop(struct timerlat_activation* now, u64 late_ns, u64 limit_ns) {
  if (!limit_ns || late_ns < limit_ns || !control.armed) return false;
  if (__sync_val_compare_and_swap(&stopping, 0, bpf_get_smp_processor_id() + 1)) return false;
  now->flags |= ACTIVATION_STOPPED;
  return true;
}

static __noinline int emit_activation(struct cpu_state* cpu) {
  u32 zero = 0;
  struct activation_record* record = bpf_map_lookup_elem(&scratch, &zero);
  void* ring = this_cpu_ring();
  if (!record || !ring || !cpu) return 0;
  struct timerlat_activation* activation = &record->activation;
  *activation = cpu->now;
  copy_noises(record, cpu, activation->expires_ns);
  u32 noises = activation->noises, frames = 0;
  u64 latency_ns = activation->header.time_ns - activation->expires_ns;
  if (activation->flags & ACTIVATION_STOPPED || (stack_over_ns && latency_ns >= stack_over_ns))
    frames = cpu->stack.count;
  barrier_var(noises);
  barrier_var(frames);
  if (noises > TIMERLAT_NOISES_MAX || frames > KERNEL_FRAMES_MAX) return 0;
  u32 bytes = sizeof(*activation) + noises * sizeof(struct timerlat_noise);
  activation->kernel_frames = frames;
  bpf_probe_read_kernel((void*)record + bytes, frames * 8, cpu->stack.at);
  bytes += frames * 8;
  activation->header.size = bytes;
  barrier_var(bytes);
  if (bytes > sizeof(*record)) return 0;
  if (bpf_ringbuf_output(ring, record, bytes, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* The thread, which runs now, has been back in its program: reports the activation. This report
 * delays no measured thread. */
static __always_inline void end_activation(struct cpu_state* cpu, u64 late_ns) {
  struct timerlat_activation* now = &cpu->now;
  if (!is_wanted()) {
    now->expires_ns = 0;
    return;
  }
  struct task_struct* thread = bpf_get_current_task_btf();
  now->header.pid = thread->tgid;
  now->header.tid = thread->pid;
  __builtin_memcpy(now->header.comm, thread->comm, COMM_SIZE);
  now->header.cpu = bpf_get_smp_processor_id();
  now->header.kind = RECORD_TIMERLAT;
  now->user_ns = now->expires_ns + late_ns;
  if (!now->header.time_ns) {
    now->flags |= ACTIVATION_UNSEEN;
    now->header.time_ns = now->user_ns;
    count(COUNTER_UNMATCHED, 1);
  }
  u64 steal_ns = stolen_ns(cpu);
  now->steal_ns = cpu->steal_ns ? steal_ns - cpu->steal_ns : 0;
  cpu->steal_ns = steal_ns;
  begin_stop(now, late_ns, stop_user_ns);
  bool last = now->flags & ACTIVATION_STOPPED;
  emit_activation(cpu);
  now->expires_ns = 0;
  if (last) finished = 1;
}

/* Whether the thread of this CPU waits for `timer`. */
static __always_inline bool is_ours(struct cpu_state* cpu, struct hrtimer* timer, u32 tid) {
  if (&hrtimer_wakeup && (u64)timer->function != (u64)&hrtimer_wakeup) return false;
  struct task_struct* task = BPF_CORE_READ((struct hrtimer_sleeper*)timer, task);
  if (!task) return false;
  if ((u64)task == cpu->task) return true; /* the thread lives as long as it is measured */
  if ((u32)BPF_CORE_READ(task, pid) != tid) return false;
  cpu->task = (u64)task;
  return true;
}

/* Runs in the interrupt, and so is part of the latency: notes only what is not known later. */
static __always_inline void begin_activation(struct cpu_state* cpu, u32 tid, u64 expires_ns,
                                             u64 now_ns) {
  struct timerlat_activation* now = &cpu->now;
  struct task_struct* current = bpf_get_current_task_btf();
  note_running(&cpu->log, current, now_ns);
  if (!cpu->base) cpu->base = find_per_cpu_base(current);
  __builtin_memset(now, 0, sizeof(*now));
  now->id = ++cpu->activations;
  now->expires_ns = expires_ns;
  now->irq_ns = now_ns;
  now->interrupted_tid = current->pid;
  __builtin_memcpy(now->interrupted, current->comm, COMM_SIZE);
  now->irq_preempt_count = preempt_count_of(cpu);
  if (!now->irq_preempt_count) now->flags |= ACTIVATION_NO_CONTEXT;
  if (user_mode_interrupted(cpu->base)) now->flags |= ACTIVATION_USER_MODE;
  if (now->interrupted_tid == tid) { /* the thread has not gone to sleep yet */
    now->header.time_ns = now_ns;
    now->thread_preempt_count = now->irq_preempt_count;
  }
}

static __always_inline int timer_expires(void* ctx, struct hrtimer* timer, u64 now_ns) {
  struct timerlat_slot* slot = slot_here();
  struct cpu_state* cpu = this_cpu();
  if (!cpu || !is_ours(cpu, timer, slot->tid)) return 0;
  u64 expires_ns = timer->node.expires;
  if (now_ns < expires_ns) now_ns = expires_ns; /* the two clocks may differ a little */
  if (cpu->now.expires_ns && slot->late_ns) end_activation(cpu, slot->late_ns);
  slot->late_ns = 0;
  begin_activation(cpu, slot->tid, expires_ns, now_ns);
  cpu->stack.count = 0;
  if (begin_stop(&cpu->now, now_ns - expires_ns, stop_irq_ns)) {
    cpu->now.flags |= ACTIVATION_IN_IRQ;
  } else if (!stacks_wanted) {
    return 0;
  }
  if (cpu->now.flags & ACTIVATION_USER_MODE) return 0;
  long bytes = bpf_get_stack(ctx, cpu->stack.at, sizeof(cpu->stack.at), 0);
  cpu->stack.count = bytes > 0 ? bytes / 8 : 0;
  return 0;
}

/* The clock is read first: what counting reads is in no cache when an idle CPU is interrupted, and
 * would be part of the latency. The same holds below. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(lat_expire, struct hrtimer* timer) {
  u64 now_ns = bpf_ktime_get_ns();
  struct run_cost* cost = begin_run(PROGRAM_NUMBER);
  if (!cost) return 0;
  timer_expires(ctx, timer, now_ns);
  end_run(cost);
  return 0;
}

static __always_inline void thread_runs(struct cpu_state* cpu, u64 now_ns) {
  struct timerlat_activation* now = &cpu->now;
  if (!now->expires_ns || now->header.time_ns) return;
  now->header.time_ns = now_ns;
  now->thread_preempt_count = preempt_count_of(cpu);
  begin_stop(now, now_ns - now->expires_ns, stop_total_ns);
}

static __always_inline int threads_switch(struct task_struct* prev, struct task_struct* next,
                                          u64 now_ns) {
  struct timerlat_slot* slot = slot_here();
  struct cpu_state* cpu = this_cpu();
  if (!cpu) return 0;
  u32 tid = slot->tid;
  note_event(&cpu->log, now_ns, false);
  note_switch(&cpu->log, prev, next, tid, now_ns);
  if ((u32)next->pid == tid) {
    thread_runs(cpu, now_ns);
  } else if ((u32)prev->pid == tid && cpu->now.expires_ns && slot->late_ns) {
    end_activation(cpu, slot->late_ns);
  }
  return 0;
}

SEC("tp_btf/sched_switch")
int lat_switch(u64* ctx) {
  u64 now_ns = bpf_ktime_get_ns();
  struct run_cost* cost = begin_run(PROGRAM_NUMBER);
  if (!cost) return 0;
  threads_switch((struct task_struct*)ctx[1], (struct task_struct*)ctx[2], now_ns);
  end_run(cost);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0 */
/* Hooks that log what runs on a CPU besides the thread measured there: interrupts, softirqs, NMIs,
 * other threads. An object that includes this header defines NOISES_MAX, a power of two,
 * noise_log_here() and note_event(), and calls note_switch(). The log of a CPU is written on that
 * CPU only, and a hook can only be interrupted by a hook of another kind. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/noise.h"
#include "bpf/run_cost.bpf.h"

/* The begin of noise that was under way when the measurement began. */
#define BEFORE_ALL 1

/* The measured threads are our own: there is no target. */
static __always_inline bool runs_for_target(void) {
  return false;
}

struct noise_log {
  struct noise_marks marks;
  struct timerlat_noise noises[NOISES_MAX]; /* the latest, by count modulo NOISES_MAX */
};

/* The log of the current CPU; null if the CPU is not measured. */
static __always_inline struct noise_log* noise_log_here(void);

/* Called by every hook except those of context switches. `enters`: a hard interrupt begins. */
static __always_inline void note_event(struct noise_log* log, u64 now_ns, bool enters);

static __always_inline u64 event_ns(struct noise_log* log, bool enters) {
  u64 now_ns = bpf_ktime_get_ns();
  note_event(log, now_ns, enters);
  return now_ns;
}

/* The next slot for a noise; overwrites the oldest noise. */
static __always_inline struct timerlat_noise* new_noise(struct noise_log* log, u64 begin_ns,
                                                        u64 end_ns, u16 kind, u32 number) {
  u32 place = log->marks.count++;
  barrier_var(place);
  struct timerlat_noise* noise = &log->noises[place & (NOISES_MAX - 1)];
  noise->begin_ns = begin_ns;
  noise->end_ns = end_ns;
  noise->kind = kind;
  noise->number = number;
  noise->detail = 0;
  return noise;
}

static __always_inline void begin_irq(u16 kind, u32 number, u16 vector) {
  struct noise_log* log = noise_log_here();
  if (!log) return;
  log->marks.irq_kind = kind;
  log->marks.irq_number = number;
  log->marks.irq_vector = vector;
  log->marks.irq_begin_ns = event_ns(log, true);
}

static __always_inline void end_irq(const char* name, u16 kind) {
  struct noise_log* log = noise_log_here();
  if (!log || !log->marks.irq_begin_ns) return;
  struct timerlat_noise* noise = new_noise(log, log->marks.irq_begin_ns, event_ns(log, false),
                                           log->marks.irq_kind, log->marks.irq_number);
  log->marks.by_kind[kind]++;
  noise->detail = log->marks.irq_vector;
  __builtin_memset(noise->name, 0, COMM_SIZE);
  if (name) bpf_probe_read_kernel_str(noise->name, COMM_SIZE, name);
  log->marks.irq_begin_ns = 0;
}

SEC("tp_btf/irq_handler_entry")
int COUNTED_PROG(noise_irq_entry, int irq, struct irqaction* action) {
  begin_irq(NOISE_IRQ, irq, VECTOR_NONE);
  return 0;
}

SEC("tp_btf/irq_handler_exit")
int COUNTED_PROG(noise_irq_exit, int irq, struct irqaction* action) {
  end_irq(BPF_CORE_READ(action, name), NOISE_IRQ);
  return 0;
}

#define NOISE_VECTOR_HOOKS(name, which)                \
  SEC("?tp_btf/" #name "_entry")                       \
  int COUNTED_PROG(noise_##name##_entry, int vector) { \
    begin_irq(NOISE_VECTOR, vector, which);            \
    return 0;                                          \
  }                                                    \
  SEC("?tp_btf/" #name "_exit")                        \
  int COUNTED_PROG(noise_##name##_exit, int vector) {  \
    end_irq(0, NOISE_VECTOR);                          \
    return 0;                                          \
  }

NOISE_VECTOR_HOOKS(local_timer, VECTOR_LOCAL_TIMER)
NOISE_VECTOR_HOOKS(reschedule, VECTOR_RESCHEDULE)
NOISE_VECTOR_HOOKS(call_function, VECTOR_CALL_FUNCTION)
NOISE_VECTOR_HOOKS(call_function_single, VECTOR_CALL_FUNCTION_SINGLE)
NOISE_VECTOR_HOOKS(irq_work, VECTOR_IRQ_WORK)

SEC("tp_btf/softirq_entry")
int COUNTED_PROG(noise_softirq_entry, unsigned int vector) {
  struct noise_log* log = noise_log_here();
  if (!log) return 0;
  log->marks.softirq_seen = 1;
  log->marks.softirq_begin_ns = event_ns(log, false);
  return 0;
}

SEC("tp_btf/softirq_exit")
int COUNTED_PROG(noise_softirq_exit, unsigned int vector) {
  struct noise_log* log = noise_log_here();
  if (!log) return 0;
  u64 begin_ns = log->marks.softirq_seen ? log->marks.softirq_begin_ns : BEFORE_ALL;
  log->marks.softirq_seen = 1;
  if (!begin_ns) return 0;
  struct timerlat_noise* noise =
      new_noise(log, begin_ns, event_ns(log, false), NOISE_SOFTIRQ, vector);
  log->marks.by_kind[NOISE_SOFTIRQ]++;
  __builtin_memset(noise->name, 0, COMM_SIZE);
  log->marks.softirq_begin_ns = 0;
  return 0;
}

/* The kernel measures NMI handlers itself, and reports their duration at the end. */
SEC("?tp_btf/nmi_handler")
int COUNTED_PROG(noise_nmi, void* handler, s64 took_ns, int handled) {
  struct noise_log* log = noise_log_here();
  if (!log || took_ns <= 0) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  struct timerlat_noise* noise = new_noise(log, now_ns - took_ns, now_ns, NOISE_NMI, 0);
  log->marks.by_kind[NOISE_NMI]++;
  __builtin_memset(noise->name, 0, COMM_SIZE);
  return 0;
}

/* `current` runs on this CPU. If its switch in was not seen, its run begins now. */
static __always_inline void note_running(struct noise_log* log, struct task_struct* current,
                                         u64 now_ns) {
  struct noise_marks* marks = &log->marks;
  if (marks->running_tid == (u32)current->pid || !marks->switch_seen) return;
  marks->running_tid = current->pid;
  marks->running_since_ns = now_ns;
}

/* Logs the run of `prev`, unless `prev` is the idle thread, which delays no thread, or `tid`, the
 * measured thread. Some kernels hide switches: the begin of the run of `prev` is then unknown. */
static __always_inline void note_switch(struct noise_log* log, struct task_struct* prev,
                                        struct task_struct* next, u32 tid, u64 now_ns) {
  struct noise_marks* marks = &log->marks;
  u32 ran = prev->pid;
  u64 begin_ns = ran == marks->running_tid ? marks->running_since_ns : 0;
  if (!marks->switch_seen) begin_ns = BEFORE_ALL;
  marks->switch_seen = 1;
  marks->running_tid = next->pid;
  marks->running_since_ns = now_ns;
  if (!begin_ns || !ran || ran == tid) return;
  struct timerlat_noise* noise = new_noise(log, begin_ns, now_ns, NOISE_THREAD, ran);
  marks->by_kind[NOISE_THREAD]++;
  noise->detail = prev->prio;
  __builtin_memcpy(noise->name, prev->comm, COMM_SIZE);
}

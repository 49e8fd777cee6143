// SPDX-License-Identifier: GPL-2.0
// Lower bounds of how long interrupts or preemption were disabled, for kernels without their own
// tracers of these. For interrupts: from timers whose interrupt came late. For preemption: from
// CPUs that were asked to switch and did not. Each bound is shorter than the section around it,
// because its source does not see the section begin.
#include "bpf/compat.bpf.h"
#include "bpf/per_cpu.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/timer_expiry.bpf.h"
#include "probes/worst/worst.h"

const volatile u8 whole_machine;
const volatile u32 keep;        /* number of longest windows wanted; 0: all */
const volatile u16 tracer;      /* enum worst_tracer */
const volatile u32 resched_bit; /* TIF_NEED_RESCHED of thread_info::flags */
const volatile u64 threshold_ns;

u64 bar_ns; /* sections up to this length are not reported */

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct worst_section);
} sections SEC(".maps");

struct reported_section {
  struct worst_window window;
  u64 stack[2 * WORST_FRAMES]; /* kernel stacks of the begin, as far as known, and of the end */
};

static __always_inline struct worst_section* this_section(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&sections, &zero);
}

/* Returns 1 if the window is on its way to the reader. */
static __noinline int tell(void* ctx, struct worst_section* here, u64 begin_ns, u64 end_ns,
                           u16 bound) {
  void* ring = ctx && here ? this_cpu_ring() : 0;
  struct reported_section* reported = ring ? bpf_ringbuf_reserve(ring, sizeof(*reported), 0) : 0;
  if (!reported) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  struct task_struct* task = bpf_get_current_task_btf();
  struct worst_window* window = &reported->window;
  __builtin_memset(window, 0, sizeof(*window));
  fill_who(&window->header, task, 0, end_ns);
  window->header.kind = RECORD_WORST_WINDOW;
  window->header.size = sizeof(*window);
  window->begin_ns = begin_ns;
  window->latency_ns = end_ns - begin_ns;
  window->uid = BPF_CORE_READ(task, cred, uid.val);
  window->policy = task->policy;
  window->rt_priority = task->rt_priority;
  window->static_prio = task->static_prio;
  window->prio = task->prio < 0 ? WORST_PRIO_DEADLINE : task->prio;
  window->tracer = tracer;
  window->bound = bound;
  u32 frames = bound == WORST_BOUND_LATE_TIMER ? 0 : here->frames;
  barrier_var(frames);
  frames &= WORST_FRAMES - 1;
  bpf_probe_read_kernel(reported->stack, frames * sizeof(u64), here->stack);
  long bytes = bpf_get_stack(ctx, reported->stack + frames, WORST_FRAMES * sizeof(u64), 0);
  window->waking_frames = frames;
  window->end_frames = bytes > 0 ? bytes / sizeof(u64) : 0;
  window->header.size += (frames + window->end_frames) * sizeof(u64);
  bpf_ringbuf_submit(reported, BPF_RB_NO_WAKEUP);
  return 1;
}

/* Returns the place of the shortest of this CPU's reported sections if the new section is longer,
 * else null. The bar does the same for all CPUs, but user space raises it only now and then: until
 * then, a busy machine would fill the ring. */
static __always_inline u64* place_among_longest(struct worst_section* here, u64 latency_ns) {
  u32 shortest = 0;
  for (u32 i = 1; i < WORST_SECTIONS_KEPT; i++)
    if (i < keep && here->reported_ns[i] < here->reported_ns[shortest & (WORST_SECTIONS_KEPT - 1)])
      shortest = i;
  u64* least_ns = &here->reported_ns[shortest & (WORST_SECTIONS_KEPT - 1)];
  return latency_ns > *least_ns ? least_ns : 0;
}

static __always_inline int end_section(void* ctx, struct worst_section* here, u64 begin_ns,
                                       u64 end_ns, u16 bound) {
  if (!control.armed || !cpu_wanted()) return 0;
  if (!whole_machine && !member_state(bpf_get_current_task_btf())) return 0;
  /* A timer may be due before the scheduler passes here, and expire after that: the stretch that
   * both have in common is reported once. */
  if (begin_ns < here->reported_until_ns) begin_ns = here->reported_until_ns;
  u64 latency_ns = ns_between(begin_ns, end_ns);
  here->seen++;
  if (latency_ns > here->longest_ns) here->longest_ns = latency_ns;
  if (latency_ns < threshold_ns || latency_ns <= bar_ns) return 0;
  u64* place = &bar_ns;
  if (keep != 1 && keep && keep <= WORST_SECTIONS_KEPT) {
    place = place_among_longest(here, latency_ns);
    if (!place) return 0;
  }
  /* A section that found no room must not keep shorter ones from the reader. */
  if (!tell(ctx, here, begin_ns, end_ns, bound)) return 0;
  here->reported_until_ns = end_ns;
  if (keep && keep <= WORST_SECTIONS_KEPT) *place = latency_ns;
  return 0;
}

SEC("?tp_btf/hrtimer_start")
int COUNTED_PROG(section_timer_start, struct hrtimer* timer) {
  u64 now_ns = bpf_ktime_get_ns();
  if (on_monotonic(timer, timer->node.expires) < now_ns) remember_set_late(timer, now_ns);
  return 0;
}

/* A timer's interrupt is taken as soon as interrupts are enabled, so they were disabled since the
 * timer was due. This does not hold if the CPU slept or ran user code, which cannot disable
 * interrupts; for a clock that may be set, which makes punctual timers late; or for timers that
 * softirqs run. If preemption counts too, the stretch may continue from here: the interrupt's end
 * reports it. */
SEC("?tp_btf/hrtimer_expire_entry")
int COUNTED_PROG(section_timer_expire, struct hrtimer* timer) {
  u64 expires_ns = take_expiry(timer, on_monotonic(timer, timer->node.expires));
  struct worst_section* here = this_section();
  if (!here || timer->is_soft || timer->base->offset) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (task->pid == 0 || user_mode_interrupted(find_per_cpu_base(task))) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  if (tracer == WORST_IRQSOFF)
    return end_section(ctx, here, expires_ns, now_ns, WORST_BOUND_LATE_TIMER);
  if (!here->late_ns || expires_ns < here->late_ns) here->late_ns = expires_ns;
  here->late_end_ns = now_ns;
  return 0;
}

/* From now on it is known that this CPU is to switch and cannot. Its stack says why. */
static __always_inline void begin_here(void* ctx, struct worst_section* here) {
  here->due_ns = bpf_ktime_get_ns();
  long bytes = bpf_get_stack(ctx, here->stack, (WORST_FRAMES - 1) * sizeof(u64), 0);
  here->frames = bytes > 0 ? bytes / sizeof(u64) : 0;
}

/* The flag was clear and is set now. The section begins here only if the CPU itself sets the flag,
 * because preemption is disabled then. Another CPU may set it while this CPU runs user code. */
static __always_inline int switch_requested(void* ctx, struct task_struct* running) {
  struct worst_section* here = this_section();
  u32 zero = 0, cpu = running->thread_info.cpu;
  struct worst_section* there = bpf_map_lookup_percpu_elem(&sections, &zero, cpu);
  if (!here || !there) return 0;
  there->is_due = running->pid != 0; /* an idle CPU checks the flag by itself */
  there->due_ns = 0;
  there->is_joined = 0;
  if (there->is_due && cpu == bpf_get_smp_processor_id()) begin_here(ctx, here);
  return 0;
}

/* Not at sched_set_need_resched_tp (Linux 6.15): at the end of a program there the kernel leaves an
 * RCU section, which may set the flag again before it is set. That recursion fills the stack and
 * crashes the machine (seen on 7.2). */
SEC("?fentry/resched_curr")
int COUNTED_PROG(section_resched_curr, struct rq* queue) {
  struct task_struct* running = queue->curr;
  if (running->thread_info.flags >> resched_bit & 1) return 0;
  return switch_requested(ctx, running);
}

/* Whether the thread that runs here is to leave. A thread's flag is cleared when the thread leaves,
 * or when the scheduler has chosen it again: what was noted of an earlier flag is over then. The
 * flag may be set without section_resched_curr(): a compiler copies resched_curr() into its callers
 * (those of wake-ups, on 7.2). */
static __always_inline bool is_still_due(struct worst_section* here) {
  struct task_struct* task = bpf_get_current_task_btf();
  bool is_set = task->pid && task->thread_info.flags >> resched_bit & 1;
  if (!here->is_due) here->due_ns = here->is_joined = 0;
  here->is_due = is_set;
  return is_set;
}

/* An interrupt ends. If the interrupted code can be preempted, the switch happens now. If the
 * interrupt came late, nothing could be switched since it was due: that time and what follows are
 * one stretch. */
static __always_inline int interrupt_ends(void* ctx) {
  struct worst_section* here = this_section();
  if (!here) return 0;
  u64 late_ns = here->late_ns;
  here->late_ns = 0;
  if (!is_still_due(here))
    return late_ns ? end_section(ctx, here, late_ns, here->late_end_ns, WORST_BOUND_LATE_TIMER) : 0;
  if (!here->due_ns) begin_here(ctx, here);
  if (late_ns && late_ns < here->due_ns) {
    here->due_ns = late_ns;
    here->is_joined = 1;
  }
  return 0;
}

#define INTERRUPT_ENDS(tracepoint)         \
  SEC("?tp_btf/" #tracepoint)              \
  int COUNTED_PROG(section_##tracepoint) { \
    return interrupt_ends(ctx);            \
  }

INTERRUPT_ENDS(irq_handler_exit)
INTERRUPT_ENDS(local_timer_exit)
INTERRUPT_ENDS(reschedule_exit)
INTERRUPT_ENDS(call_function_exit)
INTERRUPT_ENDS(call_function_single_exit)
INTERRUPT_ENDS(irq_work_exit)

/* Every way into the scheduler passes here ("Start context switch"), including one that continues
 * with the same thread, which sched_switch does not report. */
SEC("?tp_btf/rcu_utilization")
int COUNTED_PROG(section_schedule, const char* what) {
  struct worst_section* here = this_section();
  if (!here || !is_still_due(here)) return 0;
  char words[8] = {};
  bpf_probe_read_kernel(words, sizeof(words), what);
  if (words[0] != 'S' || words[6] != 'c' || words[7] != 'o') return 0;
  u64 due_ns = here->due_ns;
  here->is_due = 0;
  if (!due_ns) return 0;
  return end_section(ctx, here, due_ns, bpf_ktime_get_ns(),
                     here->is_joined ? WORST_BOUND_LATE_BOTH : WORST_BOUND_LATE_SWITCH);
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// Keeps the ledger of every thread of the machine, and records the waits that matter: the long
// waits of all threads (a member may have waited for a thread that waited itself), and the waits
// within a call that is already late.
#include "bpf/call.bpf.h"
#include "bpf/compat.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/unpreempted.bpf.h"
#include "bpf/wait.bpf.h"
#include "probes/sched/counts.bpf.h"
#include "probes/sched/cpus.bpf.h"
#include "probes/sched/disks.bpf.h"
#include "probes/sched/offcpu.bpf.h"
#include "probes/sched/places.bpf.h"
#include "probes/sched/runs.bpf.h"
#include "probes/sched/samples.bpf.h"
#include "probes/sched/stacks.bpf.h"
#include "probes/sched/stops.bpf.h"
#include "probes/sched/throttles.bpf.h"
#include "probes/sched/wakes.bpf.h"
#include "probes/sched/way_back.bpf.h"

const volatile u8 switch_tells_state; /* sched_switch has a fourth argument (Linux 5.18) */

#define NOTED_WAITS_MAX 32 /* per call, in addition to the long ones */
/* include/linux/sched.h */
#define TASK_INTERRUPTIBLE 0x1
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_NOLOAD 0x400 /* with TASK_UNINTERRUPTIBLE: an idle kernel thread */

static __always_inline u32 ledger_state_of(u32 task_state) {
  if (!task_state) return LEDGER_PREEMPTED;
  if (task_state & TASK_INTERRUPTIBLE) return LEDGER_SLEEPING;
  if (task_state & TASK_UNINTERRUPTIBLE)
    return task_state & TASK_NOLOAD ? LEDGER_SLEEPING : LEDGER_UNINTERRUPTIBLE;
  return LEDGER_OTHER;
}

/* Room for a record with its stack: a reservation's size must be a constant. */
struct wait_with_stack {
  struct sched_wait wait;
  struct kernel_frames stack;
};

/* Whether the thread is in one of very many calls of a kind: only longer ones are examined. */
static __always_inline bool in_common_call(const struct task_struct* task,
                                           const struct thread_ledger* ledger, u64 now_ns) {
  const struct open_call* call = &ledger->call;
  u32 nr = call->nr;
  if (!is_call_of(call, task) || call->abi != ABI_NATIVE || nr >= SYSCALL_TABLE_SIZE) return false;
  return ns_between(call->begin_ns, now_ns) < control.call_age_min_ns[nr];
}

/* `next` comes back from a wait. Its stack still shows where it waited. */
static __noinline int record_wait(struct task_struct* next, struct task_struct* prev,
                                  struct thread_ledger* ledger, u64 now_ns, u32 flags) {
  if (!next || !prev || !ledger) return 0;
  if (ledger->throttled_ns) {
    u64 address = (u64)next;
    record_throttle(&address, ledger, now_ns);
  }
  u64 behind_ns = note_runs(next, ledger, now_ns);
  void* ring = this_cpu_ring();
  struct wait_with_stack* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  struct sched_wait* wait = &record->wait;
  fill_wait(wait, next, ledger, now_ns);
  wait->flags |= flags;
  wait->behind_tid = prev->pid;
  wait->behind_ns = behind_ns;
  if (prev->pid) BPF_CORE_READ_STR_INTO(&wait->behind, prev, comm);
  long bytes = bpf_get_task_stack(next, record->stack.at, sizeof(record->stack.at), 0);
  wait->kernel_frames = bytes > 0 ? bytes / 8 : 0;
  wait->header.size += wait->kernel_frames * 8;
  if (ledger->call.who) wait->place = place_of(&record->stack, wait->kernel_frames, wait->state);
  if (wait->flags & WAIT_OF_MEMBER) note_ended_call(wait, next, ledger);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

/* Whether a member ran late after its wake-up, if wake-ups have a threshold. */
static __always_inline bool woken_late(struct task_struct* task, const struct thread_ledger* ledger,
                                       u64 now_ns) {
  u64 threshold_ns = control.threshold_ns[SPAN_WAKEUP];
  if (!threshold_ns || ledger->state == LEDGER_PREEMPTED) return false;
  if (ledger->wake_ns <= ledger->ran_since_ns) return false;
  u64 latency_ns = ns_between(ledger->wake_ns, now_ns);
  if (latency_ns < threshold_ns || !find_of_thread(threads, task)) return false;
  return is_late_by_name(task, SPAN_WAKEUP, latency_ns);
}

/* Whether the open call has already taken half of its threshold or more. The next NOTED_WAITS_MAX
 * waits then explain it, however short they are. */
static __always_inline bool in_late_call(struct task_struct* task, struct thread_ledger* ledger,
                                         u64 now_ns) {
  u64 threshold_ns = control.threshold_ns[SPAN_SYSCALL];
  if (!threshold_ns || !ledger->call.who) return false;
  u64 age_ns = ns_between(ledger->call.begin_ns, now_ns);
  if (age_ns < threshold_ns / 2 || !is_late_by_name(task, SPAN_SYSCALL, 2 * age_ns)) return false;
  if (ledger->noted_call_ns != ledger->call.begin_ns) {
    ledger->noted_call_ns = ledger->call.begin_ns;
    ledger->noted = 0;
  }
  return ledger->noted++ < NOTED_WAITS_MAX;
}

/* Whether a member's wait is a late span itself, or may make a call late that has ended. */
static __noinline bool is_late_wait(struct task_struct* task, const struct thread_ledger* ledger,
                                    u64 now_ns) {
  if (!task || !ledger || !control.armed) return false;
  u64 offcpu_ns = control.threshold_ns[SPAN_OFFCPU];
  if (offcpu_ns && ns_between(ledger->since_ns, now_ns) >= offcpu_ns)
    return find_of_thread(threads, task) != 0;
  if (woken_late(task, ledger, now_ns)) return true;
  if (!control.threshold_ns[SPAN_SYSCALL]) return false;
  if (ledger->state != LEDGER_OTHER && ledger->state != LEDGER_PREEMPTED) return false;
  return ended_call(task, find_of_thread(threads, task), ledger) != 0;
}

static __always_inline void switch_out(struct task_struct* prev, struct thread_ledger* ledger,
                                       struct cpu_ledger* cpu, struct task_struct* next, u32 state,
                                       u64 now_ns) {
  if (ledger->cpu != prev->thread_info.cpu) fetch_call(ledger, prev);
  if (ledger->state == LEDGER_ON_CPU)
    note_arrival(prev, ledger, cpu);
  else
    note_unseen_switch_in(ledger, cpu, now_ns);
  if (ledger->ran_since_ns && cpu->call.begin_ns > ledger->ran_since_ns)
    ledger->last_call_ns = cpu->call.begin_ns;
  take_call_away(ledger, cpu, prev);
  keep_totals(prev, ledger);
  if (keeps_totals && ledger->totals.member) count_run(ledger, now_ns);
  add_time_on_cpu(&ledger->sums.parts, ledger, cpu, now_ns);
  ledger->state = state;
  ledger->since_ns = now_ns;
  note_real_time_left(prev, ledger, now_ns);
  if (state == LEDGER_OTHER) note_tracer(prev, ledger);
  if (state != LEDGER_PREEMPTED) return;
  ledger->is_left_idle = !next->pid;
  note_throttle(prev, ledger);
  ledger->displacer_tid = next->pid;
  __builtin_memcpy(ledger->displacer, next->comm, COMM_SIZE); /* loads: cheaper than a helper */
}

static __always_inline void switch_in(struct task_struct* next, struct thread_ledger* ledger,
                                      struct cpu_ledger* cpu, struct task_struct* prev, u64 now_ns,
                                      enum deferral deferral) {
  if (ledger->state != LEDGER_ON_CPU) { /* else the switch out was missed: unknown */
    if (ledger->state != LEDGER_PREEMPTED &&
        (ledger->wake_ns < ledger->since_ns || ledger->wake_ns == WAKE_UNTIMED))
      time_wake(next, ledger, cpu, now_ns);
    if (real_time_marked) note_real_time(next, now_ns);
    keep_totals(next, ledger);
    if (keeps_totals && ledger->totals.member) ledger->reason = reason_of(next, ledger);
    add_wait(ledger, throttled_in_wait(next, ledger, now_ns), now_ns);
    if (keeps_totals && ledger->totals.member && is_preempted(ledger))
      count_displacer(next, ledger, now_ns);
    if (keeps_behind && ledger->totals.member) count_behind(next, ledger, cpu, now_ns);
    if ((counted_kinds | summed_kinds) & COUNTED_WAITS) count_wait_of(next, ledger, now_ns);
    u64 min_ns = control.wait_min_ns;
    if (min_ns && records_waits(ledger) && (u32)next->tgid != own_pid &&
        (woken_late(next, ledger, now_ns) ||
         (!in_common_call(next, ledger, now_ns) &&
          (ns_between(ledger->since_ns, now_ns) >= min_ns || in_late_call(next, ledger, now_ns) ||
           (in_old_call(next, ledger, now_ns) && add_short_wait(next, ledger, now_ns)))))) {
      bool deferred = false;
      if (deferral != DEFER_NEVER && is_late_wait(next, ledger, now_ns))
        deferred = deferral == DEFER_TO_WORK ? defer_to_work(next, ledger, now_ns)
                                             : defer_to_exit(next, ledger, now_ns);
      record_wait(next, prev, ledger, now_ns, deferred ? WAIT_STACK_DEFERRED : 0);
    }
  } else if (ledger->cpu != next->thread_info.cpu) {
    fetch_call(ledger, next);
  }
  bring_call(ledger, cpu, next->thread_info.cpu);
  ledger->state = LEDGER_ON_CPU;
  ledger->since_ns = ledger->ran_since_ns = now_ns;
  ledger->irq_mark_ns = cpu->irq_ns;
  ledger->softirq_mark_ns = cpu->softirq_ns;
}

/* A thread ran for longer than ticks are apart, and no tick was seen: ticks come another way, or
 * not at all. The scheduler's own note says since when the thread ran: its switch in may have been
 * hidden, and an idle CPU has no ticks. */
static __always_inline void check_ticks(const struct task_struct* prev,
                                        const struct cpu_ledger* cpu, u64 now_ns) {
  u64 quiet_ns = control.quiet_ns, looked_ns = cpu->looked_ns;
  if (!quiet_ns || ns_between(looked_ns, now_ns) < quiet_ns || !prev->pid) return;
  if (looked_ns > control.quiet_from_ns && ns_between(arrival_of(prev, cpu), now_ns) >= quiet_ns)
    control.quiet_ns = 0;
}

static __always_inline int switch_threads(u64* ctx, enum deferral deferral) {
  bool preempt = ctx[0];
  struct task_struct* prev = (struct task_struct*)ctx[1];
  struct task_struct* next = (struct task_struct*)ctx[2];
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  check_ticks(prev, cpu, now_ns);
  cpu->looked_ns = now_ns;
  note_run(cpu, prev, next, now_ns);
  if (keeps_behind) note_recent_run(prev, next, now_ns);
  if (keeps_idle && (!prev->pid || !next->pid)) count_idle(next, now_ns);
  struct thread_ledger* ledger = prev->pid ? ledger_of(prev) : 0;
  if (ledger) {
    /* The thread waits again before it is back in its program: the copy is due now. */
    if (deferral != DEFER_NEVER && ledger->deferred_ns) copy_deferred_stack(prev, ledger);
    u32 task_state = switch_tells_state ? (u32)ctx[3] : prev->__state;
    u32 state = preempt ? LEDGER_PREEMPTED : ledger_state_of(task_state);
    if (state == LEDGER_PREEMPTED) sample_preempted(ctx, prev, ledger, cpu, now_ns);
    if (keeps_cpus) mark_totals(ledger);
    switch_out(prev, ledger, cpu, next, state, now_ns);
    if (keeps_cpus) count_for_cpus(ledger);
    if (keeps_totals && task_state & TASK_DEAD && ledger->totals.since_ns)
      record_ended_thread(prev, ledger, now_ns);
  }
  ledger = next->pid ? ledger_of(next) : 0;
  if (!ledger) return 0;
  if (keeps_cpus) mark_totals(ledger);
  switch_in(next, ledger, cpu, prev, now_ns, deferral);
  if (keeps_cpus) count_for_cpus(ledger);
  return 0;
}

SEC("?tp_btf/sched_switch")
int COUNTED_PROG(on_switch) {
  return switch_threads(ctx, DEFER_NEVER);
}

SEC("?tp_btf/sched_switch")
int COUNTED_PROG(on_switch_with_work) {
  return switch_threads(ctx, DEFER_TO_WORK);
}

SEC("?tp_btf/sched_switch")
int COUNTED_PROG(on_switch_with_exits) {
  return switch_threads(ctx, DEFER_TO_EXIT);
}

SEC("?tp_btf/sys_exit")
int UNPREEMPTED_PROG(on_exit_from_call) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_ledger* ledger = ledger_of(task);
  if (!ledger || !ledger->deferred_ns) return 0;
  copy_deferred_stack(task, ledger);
  return 0;
}

#define TASK_ON_RQ_MIGRATING 2 /* kernel/sched/sched.h */

/* A queued thread migrates. The tracepoint also fires for each wake-up on another CPU, but a woken
 * thread leaves no run queue. */
SEC("?tp_btf/sched_migrate_task")
int COUNTED_PROG(on_migration) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  if (!control.slice_ns || !control.armed || task->on_rq != TASK_ON_RQ_MIGRATING) return 0;
  struct thread_ledger* ledger = ledger_of(task);
  if (!ledger || ledger->state == LEDGER_ON_CPU) return 0;
  u32 zero = 0;
  const struct cpu_ledger* there =
      bpf_map_lookup_percpu_elem(&cpu_ledgers, &zero, task->thread_info.cpu);
  if (there) note_runs_there(task, ledger, there, bpf_ktime_get_ns());
  return 0;
}

/* A handler has ended when the kernel wakes the thread to which the handler left the rest. With
 * PREEMPT_RT nearly all handlers do so. */
static __always_inline bool is_left_the_rest(const struct task_struct* task,
                                             struct cpu_ledger* cpu) {
  if (!cpu->irq_leaves_rest) return false;
  cpu->irq_leaves_rest = 0;
  struct irqaction* action = (struct irqaction*)cpu->irq_action;
  return action && BPF_CORE_READ(action, thread) == task;
}

static __always_inline void note_waker(const struct task_struct* task, struct thread_ledger* ledger,
                                       struct cpu_ledger* cpu) {
  struct task_struct* current = bpf_get_current_task_btf();
  ledger->waker = (u64)current;
  ledger->waker_tid = current->pid;
  if (cpu->irq_begin_ns || is_left_the_rest(task, cpu)) {
    ledger->waker_context = cpu->irq_context;
    ledger->waker_number = cpu->irq_number;
  } else if (cpu->softirq_begin_ns) {
    ledger->waker_context = WAKER_SOFTIRQ;
    ledger->waker_number = cpu->softirq_number;
  } else {
    ledger->waker_context = WAKER_THREAD;
    ledger->waker_number = 0;
  }
}

/* Whether the ending wait is too short to be reported, as far as is known without reading the
 * clock. For the sums, the scheduler's own note is precise enough. */
static __always_inline bool was_short_wait(const struct thread_ledger* ledger,
                                           const struct cpu_ledger* cpu) {
  u64 quiet_ns = control.quiet_ns;
  if (!quiet_ns || !cpu->arrival_offset_ns || control.threshold_ns[SPAN_WAKEUP]) return false;
  u64 latest_ns = cpu->looked_ns + quiet_ns;
  if (ns_between(ledger->since_ns, latest_ns) >= control.wait_min_ns) return false;
  u64 threshold_ns = control.threshold_ns[SPAN_SYSCALL];
  return !threshold_ns || !ledger->call.who ||
         ns_between(ledger->call.begin_ns, latest_ns) < threshold_ns / 2;
}

/* Runs in the waker's context, on the waker's CPU. */
SEC("tp_btf/sched_waking")
int COUNTED_PROG(on_waking) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!ledger || !cpu) return 0;
  note_waker(task, ledger, cpu);
  if (real_time_marked) note_real_time(task, bpf_ktime_get_ns());
  if (ledger->state >= LEDGER_SLEEPING && was_short_wait(ledger, cpu)) {
    ledger->wake_ns = WAKE_UNTIMED;
    return 0;
  }
  u64 now_ns = bpf_ktime_get_ns();
  ledger->wake_ns = now_ns;
  u64 min_ns = control.wait_min_ns;
  if (!min_ns || !records_waits(ledger) || ledger->state < LEDGER_SLEEPING) return 0;
  if (ns_between(ledger->since_ns, now_ns) < min_ns || (u32)task->tgid == own_pid) return 0;
  if (in_common_call(task, ledger, now_ns)) return 0;
  record_wake(ctx, ledger, cpu, task->pid);
  bool is_in_hard_irq = ledger->waker_context == WAKER_IRQ || ledger->waker_context == WAKER_VECTOR;
  if (!is_in_hard_irq && ns_between(ledger->since_ns, now_ns) >= 2 * min_ns)
    sample_waker(ctx, now_ns);
  return 0;
}

static __always_inline void begin_ledger(struct task_struct* task, u32 state) {
  struct thread_ledger* ledger = make_ledger(task);
  if (!ledger) {
    count(COUNTER_TASK_STORAGE, 1);
    return;
  }
  ledger->since_ns = bpf_ktime_get_ns();
  ledger->state = state;
  ledger->cpu = task->thread_info.cpu;
}

SEC("tp_btf/sched_process_free")
int UNPREEMPTED_PROG(on_free, struct task_struct* task) {
  forget_ledger(task);
  return 0;
}

SEC("tp_btf/sched_process_fork")
int UNPREEMPTED_PROG(on_fork, struct task_struct* parent, struct task_struct* child) {
  begin_ledger(child, LEDGER_OTHER);
  return 0;
}

SEC("tp_btf/sched_wakeup_new")
int COUNTED_PROG(on_first_wakeup, struct task_struct* task) {
  struct thread_ledger* ledger = ledger_of(task);
  struct cpu_ledger* cpu = this_cpu_ledger();
  if (!ledger || !cpu) return 0;
  ledger->wake_ns = bpf_ktime_get_ns();
  note_waker(task, ledger, cpu);
  return 0;
}

/* User space runs this after the hooks above are attached and before the hooks below are. The
 * interrupt time of every CPU is 0 then, so the ledgers of running threads are right too. */
SEC("iter/task")
int begin_ledgers(struct bpf_iter__task* ctx) {
  struct task_struct* task = ctx->task;
  if (!task || !task->pid || ledger_of(task)) return 0;
  u32 state = task->on_cpu ? LEDGER_ON_CPU : ledger_state_of(task->__state);
  begin_ledger(task, state);
  struct thread_ledger* ledger = task->ptrace ? ledger_of(task) : 0;
  if (ledger && state == LEDGER_OTHER) note_tracer(task, ledger);
  return 0;
}

/* attach_all() attaches these hooks after begin_ledgers() has run. */
#include "probes/sched/interrupts.bpf.h"

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// Tracks the wake-up of the highest-priority thread, one at a time, as the kernel's tracers wakeup,
// wakeup_rt and wakeup_dl do (kernel/trace/trace_sched_wakeup.c), or, with a target, every wake-up
// of its threads (wakes.bpf.h). Records the events meanwhile. Events outside of kept windows are
// overwritten.
#include "probes/worst/worst.h"
#include "bpf/compat.bpf.h"
#include "bpf/target.bpf.h"
#include "probes/worst/events.bpf.h"

const volatile u8 whole_machine;
const volatile u8 with_events;        /* also interrupts and all wakings, not only switches */
const volatile u8 keeps_one;          /* only the longest window is wanted */
const volatile u8 switch_tells_state; /* sched_switch has a fourth argument (Linux 5.18) */
const volatile u16 tracer;            /* enum worst_tracer */
const volatile u64 threshold_ns;      /* shorter windows are not kept */

u32 set_state[WORST_SETS];
u64 set_latency_ns[WORST_SETS];
struct worst_turn set_turn[WORST_SETS];
u64 losses[WORST_LOSSES];

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, WORST_SETS);
  __type(key, u32);
  __type(value, struct worst_slot);
} slots SEC(".maps");

#define MAX_RT_PRIO 100 /* include/linux/sched/prio.h; deadlines are below 0 */
#define LOCK_TRIES 200

static __always_inline void lose(u32 reason) {
  __sync_fetch_and_add(&losses[reason], 1);
}

/* The lock is held with interrupts disabled, so no program on this CPU can wait for itself. The
 * holder is done within a microsecond, unless a hypervisor takes its CPU. */
static __always_inline bool lock_tracked(void) {
  for (int i = 0; i < LOCK_TRIES; i++)
    if (!__sync_lock_test_and_set(&tracked.lock, 1)) return true;
  lose(WORST_LOST_BUSY);
  return false;
}

static __always_inline void unlock_tracked(void) {
  __sync_lock_test_and_set(&tracked.lock, 0); /* an exchange: earlier stores stay before it */
}

/* For the verifier, which does not remember the range of a number. */
static __always_inline u32 index_of(u32 set) {
  barrier_var(set);
  return set & (WORST_SETS - 1);
}

static __always_inline struct worst_head* this_head(void) {
  u32 at = tracked.set * cpu_count + bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&heads, &at);
}

/* Woken while it runs: the thread was on its way to sleep, and had not left yet. */
static __always_inline bool is_running(struct task_struct* task) {
  return task->on_rq && task->on_cpu;
}

static __always_inline bool has_lower_priority(struct task_struct* task) {
  s32 prio = task->prio;
  if (prio < 0) return tracked.prio < 0; /* a tracked deadline thread is tracked to its end */
  if (tracer == WORST_WAKEUP_DL) return true;
  if (tracer == WORST_WAKEUP_RT && prio >= MAX_RT_PRIO) return true;
  return prio >= tracked.prio;
}

static __always_inline bool on_wanted_cpu(struct task_struct* task) {
  if (!cpus_limited) return true;
  u32 cpu = task->thread_info.cpu;
  return cpu_set[(cpu >> 6) & (CPU_SET_WORDS - 1)] >> (cpu & 63) & 1;
}

/* Stops tracking; the lock is held. */
static __always_inline void stop_tracking(void) {
  tracked.task = 0;
  tracked.prio = WORST_PRIO_NONE;
}

static __noinline int abandon(u64 task) {
  if (!lock_tracked()) return 0;
  if (tracked.task == task) {
    stop_tracking();
    lose(WORST_LOST_UNSEEN);
  }
  unlock_tracked();
  return 0;
}

#include "probes/worst/wakes.bpf.h"

static __noinline int note_waker(void* ctx) {
  struct worst_head* head = ctx ? this_head() : 0;
  if (!head) return 0;
  struct task_struct* current = bpf_get_current_task_btf();
  head->waker_pid = current->tgid;
  head->waker_tid = current->pid;
  __builtin_memcpy(head->waker_comm, current->comm, COMM_SIZE);
  long bytes = bpf_get_stack(ctx, head->stack, sizeof(head->stack), 0);
  head->frames = bytes > 0 ? bytes / 8 : 0;
  return 0;
}

/* `task` is woken. True if its wake-up is tracked from now on. */
static __always_inline bool begin_tracking(void* ctx, struct task_struct* task, u64 now_ns) {
  if (!whole_machine) return begin_wake(ctx, task, now_ns);
  u64 address = (u64)task;
  if (tracked.task == address) {
    if (task->on_rq) return false; /* woken again before it ran */
    abandon(address);              /* it ran unreported, and waits again */
  }
  struct task_struct* current = bpf_get_current_task_btf();
  if (has_lower_priority(task) || (task->prio >= 0 && task->prio >= current->prio)) return false;
  if (!on_wanted_cpu(task)) return false;
  if (!lock_tracked()) return false;
  if (has_lower_priority(task)) { /* another CPU was first */
    unlock_tracked();
    return false;
  }
  if (tracked.task) tracked.displaced++;
  tracked.prio = task->prio;
  tracked.waker_cpu = bpf_get_smp_processor_id();
  tracked.begin_ns = now_ns;
  tracked.queued_ns = 0;
  tracked.serial++;
  barrier();
  tracked.task = address; /* last: a reader without the lock then sees the window's number too */
  unlock_tracked();
  note_waker(ctx);
  return true;
}

/* Runs in the waker's context, on the waker's CPU. The thread can run only after this. */
SEC("tp_btf/sched_waking")
int COUNTED_PROG(track_waking) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  if (!control.armed || is_running(task)) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  bool begun = begin_tracking(ctx, task, now_ns);
  if (begun || (with_events && is_recording()))
    note(WORST_EVENT_WAKING, task, task->thread_info.cpu, now_ns);
  return 0;
}

static __always_inline int queued(struct task_struct* task, u16 kind, u64 now_ns) {
  if (!is_recording()) return 0;
  u32 cpu = task->thread_info.cpu;
  if (!whole_machine) wake_is_queued(task, cpu, now_ns);
  if (tracked.task == (u64)task && !tracked.queued_ns) {
    tracked.queued_ns = now_ns;
    tracked.queued_cpu = cpu;
  }
  return note(kind, task, cpu, now_ns);
}

SEC("tp_btf/sched_wakeup")
int COUNTED_PROG(track_wakeup) {
  if (!is_recording()) return 0;
  return queued((struct task_struct*)ctx[0], WORST_EVENT_WAKEUP, bpf_ktime_get_ns());
}

/* A new thread has no waker: it is made runnable. */
SEC("tp_btf/sched_wakeup_new")
int COUNTED_PROG(track_wakeup_new) {
  struct task_struct* task = (struct task_struct*)ctx[0];
  if (!control.armed) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  begin_tracking(ctx, task, now_ns);
  return queued(task, WORST_EVENT_WAKEUP_NEW, now_ns);
}

SEC("tp_btf/sched_migrate_task")
int COUNTED_PROG(track_migrate) {
  if (!is_recording()) return 0;
  return note(WORST_EVENT_MIGRATE, (struct task_struct*)ctx[0], ctx[1], bpf_ktime_get_ns());
}

/* Returns the set to continue in if the written one is to be kept, or WORST_SETS if there is none.
 * The lock is held. Of the sets not read yet, the one with the shortest window may be discarded. */
static __always_inline u32 next_set(u64 latency_ns) {
  u32 shortest = WORST_SETS;
  u64 shortest_ns = latency_ns;
  for (u32 set = 0; set < WORST_SETS; set++) {
    u32 state = set_state[set];
    if (state == WORST_SET_FREE) {
      set_state[set] = WORST_SET_WRITTEN; /* the reader does not touch a free set */
      return set;
    }
    if (state == WORST_SET_FILLED && set_latency_ns[set] < shortest_ns) {
      shortest = set;
      shortest_ns = set_latency_ns[set];
    }
  }
  if (shortest >= WORST_SETS) return WORST_SETS;
  u32 seen = __sync_val_compare_and_swap(&set_state[shortest], WORST_SET_FILLED, WORST_SET_WRITTEN);
  if (seen != WORST_SET_FILLED) return WORST_SETS;
  if (!keeps_one) lose(WORST_LOST_WINDOWS); /* else that window is no longer the longest */
  return shortest;
}

static __noinline int describe_window(u64* ctx, struct task_struct* task, u32 set, u64 now_ns) {
  struct worst_slot* slot = ctx && task ? bpf_map_lookup_elem(&slots, &set) : 0;
  if (!slot) return 0;
  struct worst_window* window = &slot->window;
  fill_who(&window->header, task, 0, now_ns);
  window->header.kind = RECORD_WORST_WINDOW;
  window->uid = BPF_CORE_READ(task, cred, uid.val);
  window->policy = task->policy;
  window->rt_priority = task->rt_priority;
  window->static_prio = task->static_prio;
  window->prio = prio_word(task->prio);
  window->tracer = tracer;
  long bytes = bpf_get_stack(ctx, slot->stack, sizeof(slot->stack), 0);
  window->end_frames = bytes > 0 ? bytes / 8 : 0;
  return 0;
}

/* A wake-up has ended after `latency_ns`. Returns the set to leave to the reader if the window is
 * worth keeping, else WORST_SETS. The lock is held. */
static __always_inline u32 close_set(u64 latency_ns, u64 now_ns) {
  tracked.ended++;
  if (latency_ns > tracked.longest_ns) tracked.longest_ns = latency_ns;
  if (latency_ns < threshold_ns || latency_ns <= tracked.bar_ns) return WORST_SETS;
  u32 set = tracked.set;
  u32 next = next_set(latency_ns);
  if (next >= WORST_SETS) {
    lose(WORST_LOST_WINDOWS);
    return WORST_SETS;
  }
  set_state[index_of(set)] = WORST_SET_CLOSING;
  set_latency_ns[index_of(set)] = latency_ns;
  set_turn[index_of(next)].since_ns = now_ns;
  set_turn[index_of(next)].before = set;
  tracked.set = next;
  if (keeps_one) tracked.bar_ns = latency_ns;
  return set;
}

/* The tracked thread is about to run here. If the session has ended, its wake-up stays tracked and
 * counts as cut. */
static __noinline int end_tracking(u64* ctx, struct task_struct* task, u64 now_ns) {
  if (!ctx || !task || !control.armed || !lock_tracked()) return 0;
  if (tracked.task != (u64)task) {
    unlock_tracked();
    return 0;
  }
  stop_tracking();
  struct worst_window begun = {
      .begin_ns = tracked.begin_ns,
      .latency_ns = ns_between(tracked.begin_ns, now_ns),
      .queued_ns = tracked.queued_ns,
      .serial = tracked.serial,
      .waker_cpu = tracked.waker_cpu,
      .queued_cpu = tracked.queued_cpu,
  };
  u32 set = close_set(begun.latency_ns, now_ns);
  unlock_tracked();
  struct worst_slot* slot = set < WORST_SETS ? bpf_map_lookup_elem(&slots, &set) : 0;
  if (!slot) return 0;
  slot->window = begun;
  describe_window(ctx, task, set, now_ns);
  __sync_lock_test_and_set(&set_state[index_of(set)], WORST_SET_FILLED);
  return 0;
}

/* Like end_tracking(), for a thread of the target. */
static __noinline int end_wake(u64* ctx, struct task_struct* task, u64 now_ns) {
  u64 key = (u64)task;
  struct worst_wake* found = ctx && task ? bpf_map_lookup_elem(&wakes, &key) : 0;
  if (!found) return 0;
  u64 latency_ns = ns_between(found->begin_ns, now_ns);
  u32 set = WORST_SETS;
  u64 serial = 0;
  if (control.armed && lock_tracked()) {
    serial = ++tracked.serial;
    set = close_set(latency_ns, now_ns);
    unlock_tracked();
  }
  struct worst_slot* slot = set < WORST_SETS ? bpf_map_lookup_elem(&slots, &set) : 0;
  if (slot) {
    struct worst_window begun = {.begin_ns = found->begin_ns,
                                 .latency_ns = latency_ns,
                                 .queued_ns = found->queued_ns,
                                 .serial = serial,
                                 .waker_cpu = found->waker_cpu,
                                 .queued_cpu = found->queued_cpu};
    slot->window = begun;
    slot->wake = *found;
    describe_window(ctx, task, set, now_ns);
    __sync_lock_test_and_set(&set_state[index_of(set)], WORST_SET_FILLED);
  }
  forget_wake(key);
  return 0;
}

SEC("tp_btf/sched_switch")
int COUNTED_PROG(track_switch) {
  u64 tracked_task = tracked.task;
  if (!is_recording()) return 0;
  bool preempt = ctx[0];
  struct task_struct* prev = (struct task_struct*)ctx[1];
  struct task_struct* next = (struct task_struct*)ctx[2];
  u64 now_ns = bpf_ktime_get_ns();
  struct worst_event* event = new_event(WORST_EVENT_SWITCH, now_ns);
  if (event) {
    set_other(event, next);
    event->state = preempt ? 0 : switch_tells_state ? (u32)ctx[3] : prev->__state;
  }
  if (!whole_machine) {
    if (next->pid) end_wake(ctx, next, now_ns);
    if (prev->pid) abandon_if_unseen(prev);
    return 0;
  }
  if (tracked_task == (u64)next) return end_tracking(ctx, next, now_ns);
  /* The thread was put in a run queue and leaves a CPU now: it ran unreported. */
  if (tracked_task == (u64)prev && tracked.queued_ns) abandon(tracked_task);
  return 0;
}

static __always_inline int note_number(u16 kind, u32 number, u16 state) {
  if (!is_recording()) return 0;
  struct worst_event* event = new_event(kind, bpf_ktime_get_ns());
  if (!event) return 0;
  event->number = number;
  event->state = state;
  event->other_comm[0] = 0;
  return 0;
}

SEC("?tp_btf/irq_handler_entry")
int COUNTED_PROG(seen_irq_entry, int irq, struct irqaction* action) {
  if (!is_recording()) return 0;
  struct worst_event* event = new_event(WORST_EVENT_IRQ_ENTRY, bpf_ktime_get_ns());
  if (!event) return 0;
  event->number = irq;
  event->other_comm[0] = 0;
  bpf_probe_read_kernel_str(event->other_comm, COMM_SIZE, BPF_CORE_READ(action, name));
  return 0;
}

SEC("?tp_btf/irq_handler_exit")
int COUNTED_PROG(seen_irq_exit, int irq, struct irqaction* action, int ret) {
  return note_number(WORST_EVENT_IRQ_EXIT, irq, ret);
}

#define VECTOR_HOOKS(vector, name)                              \
  SEC("?tp_btf/" #vector "_entry")                              \
  int COUNTED_PROG(seen_##vector##_entry) {                     \
    return note_number(WORST_EVENT_VECTOR_ENTRY, ctx[0], name); \
  }                                                             \
  SEC("?tp_btf/" #vector "_exit")                               \
  int COUNTED_PROG(seen_##vector##_exit) {                      \
    return note_number(WORST_EVENT_VECTOR_EXIT, ctx[0], name);  \
  }

VECTOR_HOOKS(local_timer, 1) /* enum cpu_vector of bpf/sched.h */
VECTOR_HOOKS(reschedule, 2)
VECTOR_HOOKS(call_function, 3)
VECTOR_HOOKS(call_function_single, 4)
VECTOR_HOOKS(irq_work, 5)

SEC("?tp_btf/softirq_entry")
int COUNTED_PROG(seen_softirq_entry, unsigned int vector) {
  return note_number(WORST_EVENT_SOFTIRQ_ENTRY, vector, 0);
}

SEC("?tp_btf/softirq_exit")
int COUNTED_PROG(seen_softirq_exit, unsigned int vector) {
  return note_number(WORST_EVENT_SOFTIRQ_EXIT, vector, 0);
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// Waits of members for the kernel's own locks: from the moment a lock is found taken to the moment
// the thread has it or abandons it.
#include "bpf/span_stacks.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/unpreempted.bpf.h"

/* include/trace/events/lock.h */
#define LCB_F_SPIN 1
#define LCB_F_READ 2
#define LCB_F_WRITE 4
#define LCB_F_RT 8
#define LCB_F_PERCPU 16
#define LCB_F_MUTEX 32
#define LCB_FLAGS 64

static const char lock_names[LCB_FLAGS][SPAN_TEXT_SIZE] = {
    [0] = "semaphore",
    [LCB_F_SPIN] = "spinlock",
    [LCB_F_SPIN | LCB_F_READ] = "rwlock read",
    [LCB_F_SPIN | LCB_F_WRITE] = "rwlock write",
    [LCB_F_READ] = "rwsem read",
    [LCB_F_WRITE] = "rwsem write",
    [LCB_F_RT] = "rtmutex",
    /* With PREEMPT_RT, rwlocks and rwsems are one kind of lock (kernel/locking/rwbase_rt.c). */
    [LCB_F_RT | LCB_F_READ] = "rwlock or rwsem read",
    [LCB_F_RT | LCB_F_WRITE] = "rwlock or rwsem write",
    [LCB_F_PERCPU | LCB_F_READ] = "percpu-rwsem read",
    [LCB_F_PERCPU | LCB_F_WRITE] = "percpu-rwsem write",
    [LCB_F_MUTEX] = "mutex",
    [LCB_F_MUTEX | LCB_F_SPIN] = "mutex",
};

#define NESTED_WAITS 4

struct lock_wait {
  u64 lock;
  u64 begin_ns;
  u64 flags;
};

/* A wait may begin inside another: an interrupt's inside the thread's, or the wait for a lock that
 * is needed to take another. The innermost is last. */
struct lock_waits {
  u32 depth;
  u32 reserved;
  u64 period_ns; /* see count_lone_end() */
  struct lock_wait waits[NESTED_WAITS];
};

/* Spinning waits are per CPU: those of interrupts nest in the thread's. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct lock_waits);
} spinning SEC(".maps");

/* Waits that may sleep are per thread. */
THREAD_STORAGE(sleeping, LRU_HASH, struct lock_waits);
static const struct lock_waits no_waits;

static __always_inline struct lock_waits* this_cpu_waits(void) {
  u32 zero = 0;
  return bpf_map_lookup_elem(&spinning, &zero);
}

static __always_inline void push(struct lock_waits* waits, u64 lock, u32 flags) {
  u32 depth = waits->depth;
  if (depth > 0 && depth <= NESTED_WAITS &&
      waits->waits[(depth - 1) & (NESTED_WAITS - 1)].lock == lock) {
    /* A mutex reports two begins, first spinning, then asleep: this is one wait. */
    if (flags & LCB_F_MUTEX && !(flags & LCB_F_SPIN)) return;
    depth--; /* the end of the earlier wait was not seen */
  }
  if (depth >= NESTED_WAITS) {
    count(COUNTER_UNMATCHED, depth);
    depth = 0;
  }
  struct lock_wait* wait = &waits->waits[depth & (NESTED_WAITS - 1)];
  wait->lock = lock;
  wait->flags = flags;
  waits->depth = depth + 1;
  wait->begin_ns = bpf_ktime_get_ns();
}

/* Removes the innermost wait for `lock`, with all waits inside it, and returns it; null: none. */
static __always_inline struct lock_wait* pop(struct lock_waits* waits, u64 lock) {
  u32 depth = waits->depth;
  for (u32 i = 0; i < NESTED_WAITS; i++) {
    if (!depth || depth > NESTED_WAITS) return 0;
    struct lock_wait* wait = &waits->waits[(depth - 1) & (NESTED_WAITS - 1)];
    if (wait->lock == lock) {
      waits->depth = depth - 1;
      return wait;
    }
    depth--;
  }
  return 0;
}

SEC("?tp_btf/contention_begin")
int UNPREEMPTED_PROG(on_contention_begin, void* lock, unsigned int flags) {
  if (!threshold_of(SPAN_LOCK)) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (!member_state(task) || !cpu_wanted()) return 0;
  struct lock_waits* waits;
  if (flags & LCB_F_SPIN && !(flags & LCB_F_MUTEX))
    waits = this_cpu_waits();
  else
    waits = make_of_thread(sleeping, task, &no_waits);
  if (waits)
    push(waits, (u64)lock, flags);
  else
    count(COUNTER_TASK_STORAGE, 1);
  return 0;
}

static __always_inline void end_wait(void* ctx, struct lock_wait* wait, u64 threshold_ns, int ret) {
  u64 begin_ns = wait->begin_ns;
  if (begin_ns < control.since_ns[SPAN_LOCK]) {
    count(COUNTER_CUT, 1);
    return;
  }
  struct ended_span span = {.kind = SPAN_LOCK,
                            .now_ns = bpf_ktime_get_ns(),
                            .subject = wait->lock,
                            .detail = wait->flags,
                            .flags = ret ? SPAN_FAILED : 0};
  span.latency_ns = ns_between(begin_ns, span.now_ns);
  count_span(SPAN_LOCK, span.latency_ns);
  if (span.latency_ns < threshold_ns) return;
  if (!is_late_by_name(bpf_get_current_task_btf(), SPAN_LOCK, span.latency_ns)) return;
  __builtin_memcpy(span.text, lock_names[wait->flags & (LCB_FLAGS - 1)], SPAN_TEXT_SIZE);
  if (!user_stack_bytes || !emit_with_stacks(ctx, &span, 0, OWN_FRAMES))
    emit_span_with_stack(ctx, &span);
}

SEC("?tp_btf/contention_end")
int UNPREEMPTED_PROG(on_contention_end, void* lock, int ret) {
  u64 threshold_ns = threshold_of(SPAN_LOCK);
  if (!threshold_ns) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  if (!member_state(task)) return 0;
  struct lock_waits* spins = this_cpu_waits();
  struct lock_wait* wait = spins ? pop(spins, (u64)lock) : 0;
  struct lock_waits* sleeps = wait ? 0 : find_of_thread(sleeping, task);
  if (sleeps) wait = pop(sleeps, (u64)lock);
  if (wait)
    end_wait(ctx, wait, threshold_ns, ret);
  else if (sleeps && !cpus_limited)
    count_lone_end(&sleeps->period_ns, SPAN_LOCK);
  else if (!cpus_limited)
    count(COUNTER_CUT, 1);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

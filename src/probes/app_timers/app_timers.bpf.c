// SPDX-License-Identifier: GPL-2.0
// Timers that the target's threads wait for, from the moment each timer was set for until the
// thread is back in its program. A timer is the waker of a thread if the wake-up happens within the
// timer's function, so this code needs to know no kind of timer.
#include "bpf/app_timer.h"
#include "bpf/compat.bpf.h"
#include "bpf/quota_queues.bpf.h"
#include "bpf/real_time_queues.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/throttle_record.bpf.h"
#include "bpf/timer_expiry.bpf.h"
#include "bpf/unpreempted.bpf.h"

const volatile u64 stack_over_ns; /* stacks of interrupts this much later than the slack; 0: none */

struct frames {
  u64 count;
  u64 at[KERNEL_FRAMES_MAX];
};

/* A timer whose function runs. */
struct expiry {
  u64 timer; /* 0: none */
  u64 expires_ns;
  u64 slack_ns;
  u64 irq_ns;
  u64 function;
  u32 interrupted_tid;
  u32 reserved;
  char interrupted[COMM_SIZE];
  struct frames stack;
};

/* By hrtimer::is_soft: other timers can interrupt timers that softirqs run. */
struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 2);
  __type(key, u32);
  __type(value, struct expiry);
} expiring SEC(".maps");

struct woken {
  struct app_timer record; /* header: filled at the end */
  u64 frames[KERNEL_FRAMES_MAX];
  u64 throttler;       /* the limit that throttles the thread: see thread_ledger; 0: none */
  u64 queue;           /* struct cfs_rq* in which the thread is throttled … */
  u64 mark_ns;         /* … and this queue's throttled time when the thread left */
  u64 ended_ns;        /* when the call ended, if a quota will throttle the thread then; else 0 */
  u64 real_time_queue; /* struct rt_rq* in which the thread slept; 0: no real-time thread */
};

/* By tid: from the wake-up to the end of the system call. Not thread storage, which cannot be made
 * where threads are woken. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 8192);
  __type(key, u32);
  __type(value, struct woken);
} wakes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct woken);
} scratch SEC(".maps");

/* Wake-ups after which the thread slept again before its call had returned: it then waited for
 * something else. */
u64 slept_again;

static __always_inline u64 since(u64 earlier, u64 later) {
  return later > earlier ? later - earlier : 0;
}

SEC("tp_btf/hrtimer_start")
int COUNTED_PROG(own_start, struct hrtimer* timer) {
  if (!control.armed || !member_state(bpf_get_current_task_btf())) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  if (on_monotonic(timer, timer->_softexpires) < now_ns) remember_set_late(timer, now_ns);
  return 0;
}

static __always_inline struct expiry* expiry_of(const struct hrtimer* timer) {
  u32 soft = timer->is_soft != 0;
  return bpf_map_lookup_elem(&expiring, &soft);
}

SEC("tp_btf/hrtimer_expire_entry")
int COUNTED_PROG(own_expire, struct hrtimer* timer) {
  struct expiry* expiry = expiry_of(timer);
  if (!control.armed || !expiry) return 0;
  struct task_struct* current = bpf_get_current_task_btf();
  u64 now_ns = bpf_ktime_get_ns();
  expiry->expires_ns = take_expiry(timer, on_monotonic(timer, timer->_softexpires));
  if (expiry->expires_ns > now_ns) expiry->expires_ns = now_ns; /* the two clocks may differ */
  expiry->irq_ns = now_ns;
  expiry->slack_ns = since(timer->_softexpires, timer->node.expires);
  expiry->function = (u64)timer->function;
  expiry->interrupted_tid = current->pid;
  __builtin_memcpy(expiry->interrupted, current->comm, COMM_SIZE);
  expiry->stack.count = 0;
  if (stack_over_ns && since(expiry->expires_ns + expiry->slack_ns, now_ns) >= stack_over_ns) {
    long bytes = bpf_get_stack(ctx, expiry->stack.at, sizeof(expiry->stack.at), 0);
    expiry->stack.count = bytes > 0 ? bytes / 8 : 0;
  }
  expiry->timer = (u64)timer;
  return 0;
}

SEC("tp_btf/hrtimer_expire_exit")
int COUNTED_PROG(own_expired, struct hrtimer* timer) {
  for (u32 soft = 0; soft < 2; soft++) { /* the timer may be gone: only its address is left */
    u32 key = soft;
    struct expiry* expiry = bpf_map_lookup_elem(&expiring, &key);
    if (expiry && expiry->timer == (u64)timer) expiry->timer = 0;
  }
  return 0;
}

/* The innermost timer whose function runs on this CPU, or null. */
static __always_inline struct expiry* running_expiry(void) {
  u32 key = 0;
  struct expiry* expiry = bpf_map_lookup_elem(&expiring, &key);
  if (expiry && expiry->timer) return expiry;
  key = 1;
  expiry = bpf_map_lookup_elem(&expiring, &key);
  return expiry && expiry->timer ? expiry : 0;
}

/* Runs on the CPU where the timer expired. */
SEC("tp_btf/sched_waking")
int COUNTED_PROG(own_waking, struct task_struct* task) {
  u32 zero = 0, tid = task->pid;
  if (real_time_marked) note_real_time(task, bpf_ktime_get_ns());
  struct expiry* expiry = running_expiry();
  if (!expiry || !control.armed || !find_of_thread(threads, task) || !cpu_wanted()) return 0;
  struct woken* woken = bpf_map_lookup_elem(&scratch, &zero);
  if (!woken) return 0;
  struct app_timer* record = &woken->record;
  __builtin_memset(record, 0, sizeof(*record));
  woken->throttler = woken->queue = woken->mark_ns = woken->ended_ns = 0;
  woken->real_time_queue = is_real_time(task) ? (u64)real_time_queue_of(task) : 0;
  record->expires_ns = expiry->expires_ns;
  record->slack_ns = expiry->slack_ns;
  record->irq_ns = expiry->irq_ns;
  record->wake_ns = bpf_ktime_get_ns();
  record->function = expiry->function;
  record->timer_cpu = bpf_get_smp_processor_id();
  record->interrupted_tid = expiry->interrupted_tid;
  __builtin_memcpy(record->interrupted, expiry->interrupted, COMM_SIZE);
  u64 frames = expiry->stack.count;
  barrier_var(frames);
  if (frames > KERNEL_FRAMES_MAX) return 0;
  record->kernel_frames = frames;
  if (frames) bpf_probe_read_kernel(woken->frames, frames * 8, expiry->stack.at);
  if (task == bpf_get_current_task_btf()) {
    record->flags = APP_TIMER_AWAKE;
    record->run_ns = record->wake_ns;
  }
  if (bpf_map_update_elem(&wakes, &tid, woken, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
  return 0;
}

/* Writes the limit that throttled the thread, in front of the timer's record. */
static __always_inline void emit_throttle(struct task_struct* task, struct thread_state* state,
                                          const struct woken* woken, void* ring, u64 now_ns) {
  if (!woken->record.throttled_ns || !woken->throttler) return;
  struct sched_throttle* record = bpf_ringbuf_reserve(ring, sizeof(*record), 0);
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return;
  }
  fill_header(&record->header, task, state, now_ns);
  record->header.kind = RECORD_SCHED_THROTTLE;
  record->header.size = sizeof(*record);
  fill_throttle(record, woken->throttler, woken->record.throttled_ns);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __noinline int emit(struct task_struct* task, struct woken* woken, u64 end_ns) {
  if (!task || !woken) return 0;
  struct thread_state* state = member_state(task);
  struct app_timer* record = &woken->record;
  void* ring = this_cpu_ring();
  u32 bytes = sizeof(*record) + record->kernel_frames * 8;
  barrier_var(bytes);
  if (!state || !ring || bytes > sizeof(*record) + sizeof(woken->frames)) return 0;
  if (!record->run_ns) { /* a hardened kernel may hide switches */
    count(COUNTER_UNMATCHED, 1);
    return 0;
  }
  emit_throttle(task, state, woken, ring, end_ns);
  fill_header(&record->header, task, state, end_ns);
  record->header.kind = RECORD_APP_TIMER;
  record->header.size = bytes;
  if (bpf_ringbuf_output(ring, woken, bytes, BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* How long the queue of a real-time thread was throttled before the thread ran. Not known for a
 * thread woken on another CPU: when its queue there was marked is uncertain. */
static __always_inline void note_real_time_wait(struct task_struct* task, struct woken* woken) {
  if (!reached_real_time_limit(woken->record.wake_ns)) return;
  if (woken->real_time_queue != (u64)real_time_queue_of(task)) return;
  u64 address = (u64)task;
  struct real_time_wait wait = {.queue = woken->real_time_queue,
                                .from_ns = woken->record.wake_ns,
                                .to_ns = woken->record.run_ns};
  throttled_with_queues(&address, &wait);
  woken->throttler = wait.throttler;
  woken->record.throttled_ns = wait.throttled_ns;
}

/* Before Linux 6.18: how long the thread's queue was throttled before the thread ran. */
static __always_inline void note_time_in_queue(struct task_struct* task, struct woken* woken) {
  if (bpf_core_field_exists(task->throttled) || !any_throttled) return;
  struct throttled_queue* known = throttled_queue_of(task->se.cfs_rq);
  if (!known) return;
  woken->throttler = known->by;
  woken->record.throttled_ns =
      throttled_between(known, woken->record.wake_ns, woken->record.run_ns);
}

/* Since Linux 6.18: whether a quota will throttle the thread on its way back to its program. */
static __always_inline bool will_be_kept(struct task_struct* task) {
  if (!bpf_core_field_exists(task->sched_throttle_work)) return false;
  u64 own = (u64)task + bpf_core_field_offset(task->sched_throttle_work);
  return (u64)task->sched_throttle_work.next != own;
}

/* Not static: see throttled_since_mark(). */
__noinline int leave_for_quota(struct woken* woken, const u64* above) {
  if (!woken || !above) return 0;
  struct cfs_rq* queue = (struct cfs_rq*)woken->queue;
  woken->mark_ns = throttled_time_of(queue);
  woken->throttler = (u64)throttler_of(queue, (struct sched_entity*)*above);
  return 0;
}

/* The call had ended and the record waited: the thread runs again, or was never throttled. */
static __noinline int come_back(struct task_struct* task, struct woken* woken) {
  if (!task || !woken) return 0;
  u32 tid = task->pid;
  struct app_timer* record = &woken->record;
  if (woken->queue) {
    record->flags |= APP_TIMER_KEPT;
    record->throttled_ns =
        ns_between(woken->mark_ns, throttled_time_of((const struct cfs_rq*)woken->queue));
  }
  emit(task, woken, woken->queue ? bpf_ktime_get_ns() : woken->ended_ns);
  bpf_map_delete_elem(&wakes, &tid);
  return 0;
}

/* Drops the wake-up of a thread that waits again before its call has returned. */
static __always_inline void forget_if_asleep(bool preempt, struct task_struct* prev) {
  u32 tid = prev->pid;
  if (preempt || !prev->__state || !member_state(prev)) return;
  struct woken* woken = bpf_map_lookup_elem(&wakes, &tid);
  if (!woken || !woken->record.run_ns || woken->record.flags & APP_TIMER_AWAKE) return;
  if (woken->ended_ns) return;
  bpf_map_delete_elem(&wakes, &tid);
  __sync_fetch_and_add(&slept_again, 1);
}

/* A quota takes the thread off the CPU after the end of its call. */
static __always_inline void note_leaving(struct task_struct* prev) {
  u32 tid = prev->pid;
  if (!bpf_core_field_exists(prev->throttled) || !prev->throttled || !member_state(prev)) return;
  struct woken* woken = bpf_map_lookup_elem(&wakes, &tid);
  if (!woken || !woken->ended_ns) return;
  u64 above = (u64)prev->se.parent;
  woken->queue = (u64)prev->se.cfs_rq;
  leave_for_quota(woken, &above);
}

/* Run time of `prev` on the CPU for which `next` waited. Both sched_info times come from the run
 * queue's clock. The idle thread has none, but a CPU idles with an empty run queue only. */
static __always_inline u64 had_cpu(const struct task_struct* prev, const struct task_struct* next) {
  if (!bpf_core_field_exists(prev->sched_info)) return 0;
  u64 from_ns = next->sched_info.last_queued;
  if (prev->pid && prev->sched_info.last_arrival > from_ns) from_ns = prev->sched_info.last_arrival;
  return from_ns ? ns_between(from_ns, BPF_CORE_READ(prev, se.cfs_rq, rq, clock)) : 0;
}

SEC("tp_btf/sched_switch")
int COUNTED_PROG(own_switch, bool preempt, struct task_struct* prev, struct task_struct* next) {
  u32 tid = next->pid;
  if (is_real_time(prev) || is_real_time(next)) {
    u64 now_ns = bpf_ktime_get_ns();
    note_real_time(prev, now_ns);
    if (real_time_marked) note_real_time(next, now_ns);
  }
  if (prev->pid) forget_if_asleep(preempt, prev);
  if (prev->pid) note_leaving(prev);
  if (!tid || !member_state(next)) return 0;
  struct woken* woken = bpf_map_lookup_elem(&wakes, &tid);
  if (woken && woken->ended_ns && woken->queue) return come_back(next, woken);
  if (!woken || woken->record.run_ns) return 0;
  woken->record.run_ns = bpf_ktime_get_ns();
  if (woken->real_time_queue)
    note_real_time_wait(next, woken);
  else
    note_time_in_queue(next, woken);
  woken->record.behind_tid = prev->pid;
  woken->record.behind_ns = had_cpu(prev, next);
  if (prev->pid) __builtin_memcpy(woken->record.behind, prev->comm, COMM_SIZE);
  return 0;
}

static __always_inline void end_call_of_timer(void) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_state* state = member_state(task);
  if (!state || !control.armed) return;
  u32 tid = task->pid;
  struct woken* woken = bpf_map_lookup_elem(&wakes, &tid);
  if (!woken) return;
  if (woken->ended_ns) { /* an earlier call's, after which no quota throttled the thread */
    come_back(task, woken);
    return;
  }
  struct pt_regs* regs = (struct pt_regs*)bpf_task_pt_regs(task);
  woken->record.nr = (s64)regs->orig_ax < 0 ? NO_SYSCALL : (u32)regs->orig_ax;
  if (in_compat_syscall(task)) woken->record.flags |= APP_TIMER_COMPAT;
  u64 now_ns = bpf_ktime_get_ns();
  if (will_be_kept(task)) {
    woken->ended_ns = now_ns;
    return;
  }
  emit(task, woken, now_ns);
  bpf_map_delete_elem(&wakes, &tid);
}

SEC("?tp_btf/sys_exit")
int COUNTED_PROG(own_call_ends) {
  end_call_of_timer();
  return 0;
}

/* For kernels in which own_call_ends() could be preempted (kernel/call_hooks.h). */
SEC("?tp/raw_syscalls/sys_exit")
int COUNTED_PROG(own_call_ends_event) {
  end_call_of_timer();
  return 0;
}

SEC("tp_btf/sched_process_exit")
int UNPREEMPTED_PROG(own_exit, struct task_struct* task) {
  u32 tid = task->pid;
  if (member_state(task)) bpf_map_delete_elem(&wakes, &tid);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

// SPDX-License-Identifier: GPL-2.0
// How late high-resolution timers expire: from the moment they were set for to the call of their
// function.
#include "bpf/compat.bpf.h"
#include "bpf/span.bpf.h"
#include "bpf/task_of_pid.bpf.h"
#include "bpf/timer_expiry.bpf.h"

/* Wakes a thread that sleeps for a time (nanosleep, poll, futex, …). */
extern const void hrtimer_wakeup __ksym __weak;

static __always_inline u64 latest_expiry(const struct hrtimer* timer) {
  return on_monotonic(timer, timer->node.expires);
}

SEC("?tp_btf/hrtimer_start")
int COUNTED_PROG(on_hrtimer_start, struct hrtimer* timer) {
  u64 threshold_ns = threshold_of(SPAN_TIMER);
  if (!threshold_ns) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  u64 least_ns = counts_latencies(SPAN_TIMER) ? 1 : threshold_ns;
  if (ns_between(latest_expiry(timer), now_ns) >= least_ns) remember_set_late(timer, now_ns);
  return 0;
}

/* Fills `span` for an expiry at `now_ns`. True if the expiry is late. */
static __always_inline bool is_late(struct hrtimer* timer, struct ended_span* span, u64 now_ns) {
  u64 threshold_ns = threshold_of(SPAN_TIMER);
  u64 expires_ns = latest_expiry(timer);
  span->now_ns = now_ns;
  span->latency_ns = ns_between(expires_ns, now_ns);
  if (span->latency_ns < threshold_ns && !counts_latencies(SPAN_TIMER)) {
    count(COUNTER_SPANS, 1);
    return false;
  }
  span->latency_ns = ns_between(take_expiry(timer, expires_ns), span->now_ns);
  count_span(SPAN_TIMER, span->latency_ns);
  span->subject = (u64)timer->function;
  return span->latency_ns >= threshold_ns;
}

/* The thread that a timer is to wake, or null. */
static __always_inline struct task_struct* sleeper_of(struct hrtimer* timer,
                                                      struct ended_span* span) {
  if (!timer->function || (u64)timer->function != (u64)&hrtimer_wakeup) return 0;
  struct task_struct* task = BPF_CORE_READ((struct hrtimer_sleeper*)timer, task);
  if (!task) return 0;
  span->begin_pid = BPF_CORE_READ(task, tgid);
  span->begin_tid = BPF_CORE_READ(task, pid);
  return task;
}

static __always_inline bool is_anybodys(struct task_struct* task) {
  if (threads_are_hashed()) return find_hashed(&threads_hashed, task) != 0;
  return BPF_CORE_READ(task, bpf_storage) != 0;
}

/* For a target of the whole machine; and for kernels that cannot return the sleeping thread, so
 * that its membership can be checked. On such a kernel, a timer counts if some BPF program keeps
 * state for its thread. */
SEC("?tp_btf/hrtimer_expire_entry")
int COUNTED_PROG(on_hrtimer_expire, struct hrtimer* timer) {
  struct ended_span span = {.kind = SPAN_TIMER};
  if (!threshold_of(SPAN_TIMER) || !cpu_wanted()) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  struct task_struct* sleeper = sleeper_of(timer, &span);
  if (!whole_machine && !(sleeper && is_anybodys(sleeper))) return 0;
  if (is_late(timer, &span, now_ns)) emit_span_with_stack(ctx, &span);
  return 0;
}

SEC("?tp_btf/hrtimer_expire_entry")
int COUNTED_PROG(on_members_expire, struct hrtimer* timer) {
  struct ended_span span = {.kind = SPAN_TIMER};
  if (!threshold_of(SPAN_TIMER) || !cpu_wanted()) return 0;
  u64 now_ns = bpf_ktime_get_ns();
  struct task_struct* known = sleeper_of(timer, &span);
  if (!known || !is_anybodys(known)) return 0;
  struct task_struct* sleeper = bpf_task_from_pid(span.begin_tid);
  if (!sleeper) return 0;
  bool counts = member_state(sleeper) != 0;
  bpf_task_release(sleeper);
  if (counts && is_late(timer, &span, now_ns)) emit_span_with_stack(ctx, &span);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

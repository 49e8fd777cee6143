// SPDX-License-Identifier: GPL-2.0
// Work that kernel threads do for others: from its queueing to its start, and from its start to its
// end.
#include "bpf/span.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/unpreempted.bpf.h"

#define WORKS_MAX 16384
#define WORKERS_MAX 4096
#define WORK_PENDING 1 /* in work_struct::data; WORK_STRUCT_PENDING_BIT of linux/workqueue.h */

struct work_span {
  struct open_span by; /* subject: the function */
  u64 workqueue;       /* struct workqueue_struct* */
  u64 work;            /* struct work_struct*, the key in `queued` */
};

/* By struct work_struct*, from queueing to start. No event reports a cancellation in between; the
 * entry then serves the next queueing, or is swept out. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, WORKS_MAX);
  __type(key, u64);
  __type(value, struct work_span);
} queued SEC(".maps");

/* By thread, not by work: work may free itself, and its address may be reused, before it ends. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, WORKERS_MAX);
  __type(key, u32);
  __type(value, struct work_span);
} running SEC(".maps");

static __always_inline bool any_wanted(void) {
  u64 queued_ns = threshold_of(SPAN_WORK_QUEUED);
  return threshold_of(SPAN_WORK) || queued_ns;
}

SEC("?tp_btf/workqueue_queue_work")
int COUNTED_PROG(on_queue_work, unsigned int cpu, struct pool_workqueue* pool,
                 struct work_struct* work) {
  if (!any_wanted() || !counts_here()) return 0;
  u64 key = (u64)work;
  struct work_span entry = {.workqueue = (u64)pool->wq, .work = key};
  begin_span(&entry.by);
  entry.by.subject = (u64)work->func;
  struct work_span* before = bpf_map_lookup_elem(&queued, &key);
  if (before) {
    *before = entry; /* in place: forget_queued() sees it; inserted again if that came first */
    if (bpf_map_lookup_elem(&queued, &key)) return 0;
  }
  if (bpf_map_update_elem(&queued, &key, &entry, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
  return 0;
}

/* Reports the span that `entry` began and that ends now. */
static __always_inline void end_work(u32 kind, const struct work_span* entry, u64 threshold_ns) {
  struct ended_span span = {.kind = kind};
  struct workqueue_struct* queue = (void*)entry->workqueue;
  end_span(&span, &entry->by);
  count_span(kind, span.latency_ns);
  if (span.latency_ns < threshold_ns) return;
  if (kind == SPAN_WORK && !is_late_by_name(bpf_get_current_task_btf(), kind, span.latency_ns))
    return;
  if (queue) BPF_CORE_READ_STR_INTO(&span.text, queue, name);
  emit_span(&span);
}

static __always_inline void end_queued(const struct work_span* entry) {
  u64 threshold_ns = threshold_of(SPAN_WORK_QUEUED);
  if (!threshold_ns) return;
  if (entry->by.begin_ns >= control.since_ns[SPAN_WORK_QUEUED])
    end_work(SPAN_WORK_QUEUED, entry, threshold_ns);
  else
    count(COUNTER_CUT, 1);
}

/* Deletes the entry that `taken` was copied from, unless the entry belongs, or soon will belong, to
 * the next run: the kernel lets work be queued again just before it reports the start. */
static __always_inline void forget_queued(const struct work_struct* work, struct work_span* entry,
                                          const struct work_span* taken) {
  u64 key = taken->work;
  if (work->data.counter & WORK_PENDING) return;
  bpf_map_delete_elem(&queued, &key);
  if (entry->by.begin_ns == taken->by.begin_ns || entry->work != key) return;
  struct work_span next = *entry; /* queued in between */
  if (bpf_map_update_elem(&queued, &key, &next, BPF_NOEXIST) && !bpf_map_lookup_elem(&queued, &key))
    count(COUNTER_SPANS_FULL, 1);
}

SEC("?tp_btf/workqueue_execute_start")
int UNPREEMPTED_PROG(on_work_start, struct work_struct* work) {
  if (!any_wanted()) return 0;
  struct work_span now = {};
  u64 key = (u64)work;
  struct work_span* entry = bpf_map_lookup_elem(&queued, &key);
  if (!entry && !counts_here()) return 0;
  if (entry) {
    now = *entry; /* the queueing thread counts as the one that began the work */
    forget_queued(work, entry, &now);
    end_queued(&now);
  } /* else not worth counting: no event reports the queueing of the kernel's own flush marks */
  if (!threshold_of(SPAN_WORK)) return 0;
  u32 worker = bpf_get_current_pid_tgid();
  now.by.subject = (u64)work->func;
  now.by.begin_ns = bpf_ktime_get_ns();
  if (bpf_map_update_elem(&running, &worker, &now, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
  return 0;
}

/* `work` may have been freed. */
SEC("?tp_btf/workqueue_execute_end")
int UNPREEMPTED_PROG(on_work_end, struct work_struct* work) {
  u64 threshold_ns = threshold_of(SPAN_WORK);
  if (!threshold_ns) return 0;
  u32 worker = bpf_get_current_pid_tgid();
  struct work_span* begun = bpf_map_lookup_elem(&running, &worker);
  if (!begun) {
    if (counts_here()) count(COUNTER_CUT, 1);
    return 0;
  }
  if (begun->by.begin_ns >= control.since_ns[SPAN_WORK])
    end_work(SPAN_WORK, begun, threshold_ns);
  else
    count(COUNTER_CUT, 1);
  bpf_map_delete_elem(&running, &worker);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

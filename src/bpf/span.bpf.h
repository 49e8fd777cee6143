/* SPDX-License-Identifier: GPL-2.0 */
/* Shared code of the span probes: whether a kind is on, whether a span counts, and its record. The
 * hooks see the events of all threads, so each hook returns at the first test that fails. */
#pragma once

#include "bpf/latencies.bpf.h"
#include "bpf/span.h"
#include "bpf/span_sums.bpf.h"
#include "bpf/target.bpf.h"

/* 1: spans of all threads count, and spans that belong to no thread. */
const volatile u8 whole_machine;

/* The threshold of `kind`; 0 while the kind is off, or the session not armed. */
static __always_inline u64 threshold_of(u32 kind) {
  return control.armed ? control.threshold_ns[kind] : 0;
}

/* Whether a span that the running thread begins, or that interrupts the thread, counts. */
static __always_inline bool counts_here(void) {
  return (whole_machine || member_state(bpf_get_current_task_btf())) && cpu_wanted();
}

/* Sets the begin, and the thread that begins the span: another context may end it. */
static __always_inline void begin_span(struct open_span* span) {
  u64 ids = bpf_get_current_pid_tgid();
  span->begin_ns = bpf_ktime_get_ns();
  span->pid = ids >> 32;
  span->tid = ids;
}

/* A span that has ended. Its initializer sets all bytes, the text included. */
struct ended_span {
  u64 now_ns;
  u64 latency_ns;
  u64 subject;
  u64 detail;
  u32 begin_pid;
  u32 begin_tid;
  u16 kind;
  u16 flags;
  char text[SPAN_TEXT_SIZE];
};

/* Ends `span` now, with the data of its begin. */
static __always_inline void end_span(struct ended_span* span, const struct open_span* begun) {
  span->now_ns = bpf_ktime_get_ns();
  span->latency_ns = ns_between(begun->begin_ns, span->now_ns);
  span->subject = begun->subject;
  span->detail = begun->detail;
  span->begin_pid = begun->pid;
  span->begin_tid = begun->tid;
}

static __always_inline void fill_span(struct span_record* record, const struct ended_span* span) {
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_state* state = member_state(task);
  fill_who(&record->header, task, state ? state->cgroup_id : 0, span->now_ns);
  record->header.kind = RECORD_SPAN;
  record->header.size = sizeof(*record);
  record->latency_ns = span->latency_ns;
  record->subject = span->subject;
  record->detail = span->detail;
  __builtin_memset(&record->ledger, 0, sizeof(record->ledger));
  record->begin_pid = span->begin_pid;
  record->begin_tid = span->begin_tid;
  record->span = span->kind;
  record->flags = span->flags;
  record->kernel_frames = 0;
  record->user_bytes = 0;
  __builtin_memcpy(record->text, span->text, sizeof(record->text));
  record->throttled_ns = 0;
}

/* Adds the span to the sums, if those of its kind are summed up and there is room. */
static __noinline __attribute__((unused)) int sum_span(const struct ended_span* span) {
  if (!span || !is_summed(span->kind)) return 0;
  struct span_sum_key key = {.subject = span->subject,
                             .detail = span->detail,
                             .pid = span->begin_pid,
                             .tid = span->begin_tid,
                             .kind = span->kind};
  __builtin_memcpy(key.text, span->text, sizeof(key.text));
  return add_to_sum(&key, span->latency_ns, bpf_get_current_task_btf(), span->flags);
}

static __noinline __attribute__((unused)) int emit_span(const struct ended_span* span) {
  if (summed_kinds && sum_span(span)) return 0;
  void* ring = this_cpu_ring();
  struct span_record* record = ring && span ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_span(record, span);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

/* The size of a reservation must be a constant; header.size is the part in use. */
struct span_with_stack {
  struct span_record record;
  u64 frames[KERNEL_FRAMES_MAX];
};

#define OWN_FRAMES 2 /* the function below, and the program that called it */

/* With the current kernel stack. */
static __noinline __attribute__((unused)) int emit_span_with_stack(void* ctx,
                                                                   const struct ended_span* span) {
  if (summed_kinds && sum_span(span)) return 0;
  void* ring = this_cpu_ring();
  struct span_with_stack* record = ring && span ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) {
    count(COUNTER_RING_FULL, 1);
    return 0;
  }
  fill_span(&record->record, span);
  long bytes = bpf_get_stack(ctx, record->frames, sizeof(record->frames), OWN_FRAMES);
  if (bytes > 0) {
    record->record.kernel_frames = bytes / sizeof(u64);
    record->record.header.size += bytes;
  }
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  return 0;
}

/* Counts a span that has ended, late or not. */
static __always_inline void count_span(u32 kind, u64 latency_ns) {
  count(COUNTER_SPANS, 1);
  count_latency(kind, latency_ns);
}

/* A span that begins and ends on one CPU, and does not nest in another span of its kind. */
struct cpu_span {
  u64 begin_ns;  /* 0: no open span */
  u64 period_ns; /* control.since_ns when the last end without a begin was seen */
};

/* Counts an end without a begin, of a span that counts for certain. The first such end of a CPU or
 * thread since the kind was turned on is cut: the span was under way then. Others are unmatched. */
static __always_inline void count_lone_end(u64* period_ns, u32 kind) {
  u64 since_ns = control.since_ns[kind];
  count(*period_ns == since_ns ? COUNTER_UNMATCHED : COUNTER_CUT, 1);
  *period_ns = since_ns;
}

/* Ends the span of this CPU. True if the span is to be reported; sets its end and latency. */
static __always_inline bool end_on_cpu(struct cpu_span* slot, u32 kind, u64 threshold_ns,
                                       struct ended_span* span) {
  u64 begin_ns = slot->begin_ns;
  slot->begin_ns = 0;
  if (begin_ns < control.since_ns[kind]) {
    if (counts_here()) count_lone_end(&slot->period_ns, kind);
    return false;
  }
  span->now_ns = bpf_ktime_get_ns();
  span->latency_ns = ns_between(begin_ns, span->now_ns);
  if (!counts_here()) return false;
  count_span(kind, span->latency_ns);
  return span->latency_ns >= threshold_ns;
}

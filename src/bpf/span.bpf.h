/* SPDX-License-Identifier: GPL-2.0 */
/* What the probes of spans share: whether a kind is wanted, whether a span counts, and its record.
 * Their hooks see everybody's events, so each leaves at the first test that says no. */
#pragma once

#include "bpf/span.h"
#include "bpf/target.bpf.h"

/* The target is everything: spans count whoever they belong to, and those of nobody. */
const volatile u8 whole_machine;

/* The threshold of `kind`; 0 while it is not wanted, or the session not armed. */
static __always_inline u64 threshold_of(u32 kind) {
  return control.armed ? control.threshold_ns[kind] : 0;
}

/* Whether something counts that happens to, or is begun by, the thread that runs here. */
static __always_inline bool counts_here(void) {
  return (whole_machine || member_state(bpf_get_current_task_btf())) && cpu_wanted();
}

/* Who begins a span that another context may end, and when. */
static __always_inline void begin_span(struct open_span* span) {
  u64 ids = bpf_get_current_pid_tgid();
  span->begin_ns = bpf_ktime_get_ns();
  span->pid = ids >> 32;
  span->tid = ids;
}

/* A span that has ended. All of it is set by its initializer, text included. */
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

/* What `begun` says of the span that ends now. */
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

static __noinline __attribute__((unused)) int emit_span(const struct ended_span* span) {
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

/* A reservation's size must be a constant; the header says how much of it is used. */
struct span_with_stack {
  struct span_record record;
  u64 frames[KERNEL_FRAMES_MAX];
};

#define OWN_FRAMES 2 /* of the function below, and of the program that called it */

/* With the kernel stack of now. */
static __noinline __attribute__((unused)) int emit_span_with_stack(void* ctx,
                                                                   const struct ended_span* span) {
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

/* A span that begins and ends on one CPU, and does not nest in another of its kind. */
struct cpu_span {
  u64 begin_ns;  /* 0: none is open */
  u64 period_ns; /* control.since_ns when an end was last missing its begin */
};

/* An end whose begin is not known, once it is certain that it counts: the first one on a CPU, or
 * of a thread, since the kind is wanted was under way then. */
static __always_inline void count_lone_end(u64* period_ns, u32 kind) {
  u64 since_ns = control.since_ns[kind];
  count(*period_ns == since_ns ? COUNTER_UNMATCHED : COUNTER_CUT, 1);
  *period_ns = since_ns;
}

/* Ends the span of this CPU. True, and when and how long, where it is to be reported. */
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
  count(COUNTER_SPANS, 1);
  return span->latency_ns >= threshold_ns;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Sums of spans by kind and name, for sessions that want no record for each span. Other sessions
 * have neither the code nor the map. */
#pragma once

#include "bpf/session.bpf.h"
#include "bpf/span_sums.h"

const volatile u32 summed_kinds; /* set of enum span_kind */
const volatile u8 sums_by_thread;
const volatile struct span_identity span_identities[SPAN_KINDS_MAX];

/* User space takes the entries of ended epochs out. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, SPAN_SUMS_MAX);
  __type(key, struct span_sum_key);
  __type(value, struct span_sum);
} span_sums SEC(".maps");

static const struct span_sum no_spans = {.latency.min_ns = ~0ull};

static __always_inline bool is_summed(u32 kind) {
  return summed_kinds >> kind & 1;
}

/* The new sum of `key`, or that of another CPU which was faster; null: there is no room. */
static __always_inline struct span_sum* begin_sum(const struct span_sum_key* key,
                                                  struct task_struct* task) {
  bool is_new = !bpf_map_update_elem(&span_sums, key, &no_spans, BPF_NOEXIST);
  struct span_sum* sum = bpf_map_lookup_elem(&span_sums, key);
  if (!sum || !is_new) return sum;
  __sync_fetch_and_add(&control.span_sums_used, 1);
  sum->header.pid = task->tgid;
  sum->header.tid = task->pid;
  BPF_CORE_READ_STR_INTO(&sum->header.comm, task, comm);
  sum->subject = key->subject;
  sum->detail = key->detail;
  sum->begin_pid = key->pid;
  sum->begin_tid = key->tid;
  sum->span = key->kind;
  __builtin_memcpy(sum->text, key->text, sizeof(sum->text));
  sum->header.kind = RECORD_SPAN_SUM;
  sum->header.size = sizeof(*sum);
  return sum;
}

/* After so many failures, other CPUs have stored as many extremes, and this one is left out. */
#define EXTREME_TRIES 8

static __always_inline void note_extremes(struct latency_histogram* latency, u64 latency_ns) {
  for (u32 i = 0; i < EXTREME_TRIES; i++) {
    u64 seen = latency->max_ns;
    if (seen >= latency_ns ||
        __sync_val_compare_and_swap(&latency->max_ns, seen, latency_ns) == seen)
      break;
  }
  for (u32 i = 0; i < EXTREME_TRIES; i++) {
    u64 seen = latency->min_ns;
    if (seen <= latency_ns ||
        __sync_val_compare_and_swap(&latency->min_ns, seen, latency_ns) == seen)
      break;
  }
}

/* Adds a span that `task` ends. Several CPUs, and interrupts, may add to one sum at a time.
 * Returns 0 if there is no room. */
static __noinline __attribute__((unused)) int add_to_sum(struct span_sum_key* key, u64 latency_ns,
                                                         struct task_struct* task, u32 flags) {
  if (!key || !task) return 0;
  const volatile struct span_identity* identity =
      &span_identities[key->kind & (SPAN_KINDS_MAX - 1)];
  key->subject &= identity->subject_mask;
  key->detail &= identity->detail_mask;
  if (!identity->has_text) __builtin_memset(key->text, 0, sizeof(key->text));
  if (!sums_by_thread || !identity->is_of_beginner) key->pid = key->tid = 0;
  if (sums_by_thread && identity->is_of_ender && !key->tid) {
    key->pid = task->tgid;
    key->tid = task->pid;
  }
  key->epoch = control.epoch;
  struct span_sum* sum = bpf_map_lookup_elem(&span_sums, key);
  if (!sum) sum = begin_sum(key, task);
  if (sum && sums_by_thread && key->tid == (u32)task->pid) { /* it may have a new name */
    sum->header.tid = key->tid;
    sum->header.time_ns = bpf_ktime_get_ns();
    BPF_CORE_READ_STR_INTO(&sum->header.comm, task, comm);
  }
  u32 bucket = histogram_bucket(latency_ns);
  if (!sum || bucket >= HISTOGRAM_BUCKETS) return 0;
  __sync_fetch_and_add(&sum->latency.count, 1);
  __sync_fetch_and_add(&sum->latency.total_ns, latency_ns);
  __sync_fetch_and_add(&sum->latency.buckets[bucket], 1);
  note_extremes(&sum->latency, latency_ns);
  if (flags & SPAN_FAILED) __sync_fetch_and_add(&sum->errors, 1);
  return 1;
}

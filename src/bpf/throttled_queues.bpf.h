/* SPDX-License-Identifier: GPL-2.0 */
/* Throttled queues, for kernels that mark queues but not threads: when each queue was throttled, so
 * that the throttled part of a wait can be computed at its end. */
#pragma once

#include "bpf/throttle.bpf.h"

#define PERIODS_KEPT 16 /* per queue: a wait may span several */

struct throttle_period {
  u64 from_ns;
  u64 to_ns;
};

struct throttled_queue {
  u64 since_ns; /* begin of the present period; 0: not throttled */
  u64 by;       /* thread_ledger.throttler of the present or the last period */
  u64 ended;    /* number of ended periods */
  struct throttle_period last[PERIODS_KEPT];
};

/* By struct cfs_rq* or rt_rq*. When the table is full, the queue unused for longest is dropped: the
 * throttled time of its threads is then unknown. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, u64);
  __type(value, struct throttled_queue);
} throttled_queues SEC(".maps");

static __always_inline struct throttled_queue* throttled_queue_of(const void* queue) {
  u64 key = (u64)queue;
  return bpf_map_lookup_elem(&throttled_queues, &key);
}

/* Returns null if there is no room. */
static __noinline struct throttled_queue* make_throttled_queue(u64 key) {
  struct throttled_queue initial = {};
  bpf_map_update_elem(&throttled_queues, &key, &initial, BPF_NOEXIST);
  return bpf_map_lookup_elem(&throttled_queues, &key);
}

/* False if `known` is not throttled, or if another CPU ends the period. */
static __always_inline bool end_throttle(struct throttled_queue* known, u64 now_ns) {
  u64 since_ns = known->since_ns;
  if (!since_ns) return false;
  struct throttle_period* period = &known->last[known->ended % PERIODS_KEPT];
  period->from_ns = since_ns;
  period->to_ns = now_ns;
  if (__sync_val_compare_and_swap(&known->since_ns, since_ns, 0) != since_ns) return false;
  known->ended++;
  return true;
}

/* The part of `period` between `from_ns` and `to_ns`, in ns. Not static: the verifier checks the
 * comparisons once, not for each period that is kept. */
__noinline u64 part_of_period(const struct throttle_period* period, u64 from_ns, u64 to_ns) {
  if (!period) return 0;
  u64 begin_ns = period->from_ns, end_ns = period->to_ns;
  if (begin_ns < from_ns) begin_ns = from_ns;
  if (end_ns > to_ns) end_ns = to_ns;
  return ns_between(begin_ns, end_ns);
}

/* The time for which `known` was throttled between `from_ns` and `to_ns`, in ns. */
static __always_inline u64 throttled_between(const struct throttled_queue* known, u64 from_ns,
                                             u64 to_ns) {
  u64 sum_ns = known->since_ns
                   ? ns_between(known->since_ns > from_ns ? known->since_ns : from_ns, to_ns)
                   : 0;
  for (int i = 0; i < PERIODS_KEPT; i++) sum_ns += part_of_period(&known->last[i], from_ns, to_ns);
  return sum_ns;
}

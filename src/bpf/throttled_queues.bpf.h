/* SPDX-License-Identifier: GPL-2.0 */
/* Queues of threads that the scheduler passes over for a while, where it says so of the queue and
 * not of the threads: when they were, so that a wait that ends can be asked how much of it that is.
 */
#pragma once

#include "bpf/throttle.bpf.h"

#define PERIODS_KEPT 16 /* of a queue: a wait may go through several */

struct throttle_period {
  u64 from_ns;
  u64 to_ns;
};

struct throttled_queue {
  u64 since_ns; /* 0: it is not throttled */
  u64 by;       /* who throttles it, now or the last time: see thread_ledger */
  u64 ended;    /* periods so far */
  struct throttle_period last[PERIODS_KEPT];
};

/* By struct cfs_rq* or rt_rq*. Where it is full, the queue longest unused is forgotten: what its
 * threads wait for is unknown then. */
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

/* Returns null where there is no room. */
static __noinline struct throttled_queue* make_throttled_queue(u64 key) {
  struct throttled_queue initial = {};
  bpf_map_update_elem(&throttled_queues, &key, &initial, BPF_NOEXIST);
  return bpf_map_lookup_elem(&throttled_queues, &key);
}

static __always_inline void end_throttle(struct throttled_queue* known, u64 now_ns) {
  if (!known->since_ns) return;
  struct throttle_period* period = &known->last[known->ended % PERIODS_KEPT];
  period->from_ns = known->since_ns;
  period->to_ns = now_ns;
  known->ended++;
  known->since_ns = 0;
}

/* In `known`, of the time from `from_ns` to `to_ns`. */
static __always_inline u64 throttled_between(const struct throttled_queue* known, u64 from_ns,
                                             u64 to_ns) {
  u64 sum_ns = known->since_ns
                   ? ns_between(known->since_ns > from_ns ? known->since_ns : from_ns, to_ns)
                   : 0;
  for (int i = 0; i < PERIODS_KEPT; i++) {
    u64 begin_ns = known->last[i].from_ns, end_ns = known->last[i].to_ns;
    if (begin_ns < from_ns) begin_ns = from_ns;
    if (end_ns > to_ns) end_ns = to_ns;
    sum_ns += ns_between(begin_ns, end_ns);
  }
  return sum_ns;
}

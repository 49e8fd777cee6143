/* SPDX-License-Identifier: GPL-2.0 */
/* The moment a timer is to expire at, on the clock that programs read. */
#pragma once

#include "bpf/session.bpf.h"

/* Timers that were set for a moment already over, and when that was done: a sleep until 1970 is not
 * half a century late. Entries that age out (the timer was cancelled) cannot mislead: what counts
 * is the later of the two. */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, u64);
  __type(value, u64);
} set_late SEC(".maps");

/* Timers of other clocks count from elsewhere; the kernel keeps by how much. */
static __always_inline u64 on_monotonic(const struct hrtimer* timer, s64 ns) {
  s64 at_ns = ns - timer->base->offset;
  return at_ns > 0 ? at_ns : 0;
}

/* `timer` is set now, for a moment that is over. */
static __always_inline void remember_set_late(const struct hrtimer* timer, u64 now_ns) {
  u64 key = (u64)timer;
  if (bpf_map_update_elem(&set_late, &key, &now_ns, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
}

/* The moment that `timer`, which expires now, was to expire at: `expires_ns`, or later if it was
 * set later. To be asked once. */
static __always_inline u64 take_expiry(const struct hrtimer* timer, u64 expires_ns) {
  u64 key = (u64)timer;
  u64* set_ns = bpf_map_lookup_elem(&set_late, &key);
  if (!set_ns) return expires_ns;
  if (*set_ns > expires_ns) expires_ns = *set_ns;
  bpf_map_delete_elem(&set_late, &key);
  return expires_ns;
}

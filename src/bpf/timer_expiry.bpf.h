/* SPDX-License-Identifier: GPL-2.0 */
/* The expiry for which a timer is set, on the clock that programs read. */
#pragma once

#include "bpf/session.bpf.h"

/* Timers set for a time already past, and when they were set: a sleep until 1970 is not half a
 * century late. Stale entries (of cancelled timers) do no harm: the later of the two times counts.
 */
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, u64);
  __type(value, u64);
} set_late SEC(".maps");

/* Other clocks have other origins; the kernel keeps their offset from CLOCK_MONOTONIC. */
static __always_inline u64 on_monotonic(const struct hrtimer* timer, s64 ns) {
  s64 at_ns = ns - timer->base->offset;
  return at_ns > 0 ? at_ns : 0;
}

/* Called when `timer` is set for a time already past. */
static __always_inline void remember_set_late(const struct hrtimer* timer, u64 now_ns) {
  u64 key = (u64)timer;
  if (bpf_map_update_elem(&set_late, &key, &now_ns, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
}

/* The expiry for which `timer`, which expires now, was set: `expires_ns`, or the time at which it
 * was set, if later. Called once per expiry: removes the entry. */
static __always_inline u64 take_expiry(const struct hrtimer* timer, u64 expires_ns) {
  u64 key = (u64)timer;
  u64* set_ns = bpf_map_lookup_elem(&set_late, &key);
  if (!set_ns) return expires_ns;
  if (*set_ns > expires_ns) expires_ns = *set_ns;
  bpf_map_delete_elem(&set_late, &key);
  return expires_ns;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Counts latencies for thresholds that are percentiles. Sessions without such thresholds have
 * neither the code nor the map. */
#pragma once

#include "bpf/latencies.h"
#include "bpf/session.bpf.h"

const volatile u32 counted_kinds; /* set of enum span_kind */
const volatile u32 latency_stripe_mask;

/* By stripe and slot. Not per CPU: on a large machine, histograms for each CPU would take more
 * memory than the rings. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, LATENCY_SLOTS);
  __type(key, u32);
  __type(value, struct counted_latencies);
} latencies SEC(".maps");

static __always_inline bool counts_latencies(u32 kind) {
  return counted_kinds >> kind & 1;
}

static __noinline __attribute__((unused)) int count_in_slot(u32 slot, u64 latency_ns) {
  u32 index = (bpf_get_smp_processor_id() & latency_stripe_mask) * LATENCY_SLOTS + slot;
  struct counted_latencies* counted = bpf_map_lookup_elem(&latencies, &index);
  u32 bucket = histogram_bucket(latency_ns);
  if (!counted || bucket >= HISTOGRAM_BUCKETS) return 0;
  __sync_fetch_and_add(&counted->buckets[bucket], 1);
  if (!counted->is_used) counted->is_used = 1;
  return 0;
}

static __always_inline void count_latency(u32 kind, u64 latency_ns) {
  if (counts_latencies(kind)) count_in_slot(SLOT_OF_KIND + kind, latency_ns);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Maps shared by all BPF objects of a session (user space creates them once and reuses the fds),
 * and the counters that each object keeps for itself. */
#pragma once

#include "bpf/control.h"
#include "bpf/kernel.h"

/* A data section rather than a map with look-ups: reading a word takes one load. */
SEC(".data.control") struct session_control control;

/* The clocks of two CPUs may differ slightly: a span that ends before its begin took no time. */
static __always_inline u64 ns_between(u64 begin_ns, u64 end_ns) {
  return end_ns > begin_ns ? end_ns - begin_ns : 0;
}

/* One ring buffer per CPU: two CPUs writing one ring cost five times as much per record. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, u32);
  __array(
      values, struct {
        __uint(type, BPF_MAP_TYPE_RINGBUF);
        __uint(max_entries, 4096);
      });
} rings SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, COUNTER_COUNT);
  __type(key, u32);
  __type(value, u64);
} counters SEC(".maps");

static __always_inline void count(u32 counter, u64 amount) {
  u64* value = bpf_map_lookup_elem(&counters, &counter);
  if (value) *value += amount;
}

/* The ring buffer of the current CPU, or null. */
static __always_inline void* this_cpu_ring(void) {
  u32 cpu = bpf_get_smp_processor_id();
  return bpf_map_lookup_elem(&rings, &cpu);
}

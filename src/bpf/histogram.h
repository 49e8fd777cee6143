// SPDX-License-Identifier: GPL-2.0
// The only definition of our log-linear histogram, for BPF C and C++.
//
// 16 sub-buckets per power of two: a value and its bucket's bounds differ by at most 1/16 = 6.25 %.
// Values below 16 ns have a bucket each. Values of 2^44 ns (4.9 hours) and above share the last
// bucket. Count, total, minimum and maximum are always exact. HdrHistogram and rezolus's H2
// histogram use the same scheme.
#pragma once

#include "bpf/wire.h"

#define HISTOGRAM_SUB_BITS 4
#define HISTOGRAM_SUB_BUCKETS 16
#define HISTOGRAM_MAX_BITS 44
#define HISTOGRAM_BUCKETS 656  // (44 - 4 + 1) * 16

struct latency_histogram {
  u64 count;
  u64 total_ns;
  u64 min_ns;  // meaningless while count is 0
  u64 max_ns;
  u32 buckets[HISTOGRAM_BUCKETS];
};
WIRE_SIZE(struct latency_histogram, 32 + 4 * HISTOGRAM_BUCKETS);

// floor(log2(value)), value > 0. A branch tree, because BPF has no count-leading-zeros instruction.
static inline u32 histogram_log2(u64 value) {
  u32 bits = 0;
  if (value >> 32) value >>= 32, bits += 32;
  if (value >> 16) value >>= 16, bits += 16;
  if (value >> 8) value >>= 8, bits += 8;
  if (value >> 4) value >>= 4, bits += 4;
  if (value >> 2) value >>= 2, bits += 2;
  if (value >> 1) bits += 1;
  return bits;
}

// The index of the bucket that holds `value_ns`; always below HISTOGRAM_BUCKETS.
static inline u32 histogram_bucket(u64 value_ns) {
  if (value_ns < HISTOGRAM_SUB_BUCKETS) return (u32)value_ns;
  if (value_ns >> HISTOGRAM_MAX_BITS) return HISTOGRAM_BUCKETS - 1;
  u32 log2 = histogram_log2(value_ns);
  u32 sub = (u32)(value_ns >> (log2 - HISTOGRAM_SUB_BITS)) & (HISTOGRAM_SUB_BUCKETS - 1);
  return ((log2 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS) + sub;
}

// SPDX-License-Identifier: GPL-2.0
// Shared by user space and the programs of user spans.
#pragma once

#include "bpf/latencies.h"
#include "bpf/thread_ledger.h"
#include "probes/pairs/plan.h"

#define PAIRS_MAX COUNTED_PAIRS  // spans of a session

#define PAIR_SCRATCHES 2  // per CPU

// In memory that user space has mapped; may change at any time.
struct pairs_control {
  u64 threshold_ns[PAIRS_MAX];  // per span; 0: control.threshold_ns[SPAN_PAIR] applies
  u32 begun[PAIRS_MAX];  // 1: a begin was seen. From then on, an end without a begin is unmatched
};
WIRE_SIZE(struct pairs_control, 96);

enum pair_role { PAIR_BEGIN = 0, PAIR_END = 1, PAIR_DROP = 2 };

struct pair_key {
  u64 key[2];
  u32 pair;
  u32 reserved;
};
WIRE_SIZE(struct pair_key, 24);

// A span that has begun.
struct open_pair {
  u64 begin_ns;
  u64 cgroup_id;
  u32 pid;
  u32 tid;
  u32 cpu;
  u32 has_sums;
  char comm[COMM_SIZE];
  struct ledger_sums sums;  // sums of the thread that began the span, at that time
};
WIRE_SIZE(struct open_pair, 112);

// The last end so far of a span that goes on until its last end.
struct last_end {
  u64 end_ns;
  u64 throttled_ns;
  u64 cgroup_id;
  struct ledger_parts ledger;
  u32 pid;
  u32 tid;
  u32 cpu;
  u16 flags;    // enum span_flags
  u16 is_late;  // 1: the span is to be reported
  char comm[COMM_SIZE];
};
WIRE_SIZE(struct last_end, 112);

// Per CPU and span.
struct pair_counts {
  u64 begins;     // begins that passed the filter and belong to the target
  u64 ends;       // ends that had a begin
  u64 unmatched;  // ends without a begin, after the first begin
  u64 replaced;   // begins whose span never ended: another began with the same key
  u64 full;       // begins without room
  u64 unread;     // events left out: key or filter could not be read
  u64 dropped;    // spans that another event ended without a result
};
WIRE_SIZE(struct pair_counts, 56);

// SPDX-License-Identifier: GPL-2.0
// What user space and the programs of user-defined spans share.
#pragma once

#include "bpf/thread_ledger.h"
#include "probes/pairs/plan.h"

#define PAIRS_MAX 8  // spans of a session

#define PAIR_SCRATCHES 2  // per CPU

// In memory that user space has mapped: to be changed at any time.
struct pairs_control {
  u64 threshold_ns[PAIRS_MAX];  // of each span; 0: control.threshold_ns[SPAN_PAIR] holds
  u32 begun[PAIRS_MAX];  // 1: a begin was seen. An end without one means something from then on
};
WIRE_SIZE(struct pairs_control, 96);

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
  struct ledger_sums sums;  // of its thread, when it began
};
WIRE_SIZE(struct open_pair, 112);

// Per CPU and span.
struct pair_counts {
  u64 begins;     // that were wanted by filter and target
  u64 ends;       // that ended a span
  u64 unmatched;  // ends without a begin, behind the first begin
  u64 replaced;   // begins whose span never ended: another began with the same key
  u64 full;       // begins that found no room
  u64 unread;     // events left out: key or filter could not be read
};
WIRE_SIZE(struct pair_counts, 48);

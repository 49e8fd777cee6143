// SPDX-License-Identifier: GPL-2.0
// Latencies that BPF programs count, so that thresholds can be percentiles (`-T p99`), and the
// record of a threshold that was chosen.
#pragma once

#include "bpf/histogram.h"
#include "bpf/span.h"
#include "bpf/syscalls.h"

#define COUNTED_PAIRS 8  // user spans of a session

// Slots: one for each kind of span, user span and native system call. The slot of SPAN_SYSCALL has
// the calls without a slot of their own: 32-bit calls, and numbers beyond the table.
enum latency_slot {
  SLOT_OF_KIND = 0,                              // plus enum span_kind
  SLOT_OF_PAIR = SLOT_OF_KIND + SPAN_KINDS_MAX,  // plus the index of the user span
  SLOT_OF_CALL = SLOT_OF_PAIR + COUNTED_PAIRS,   // plus the number of the call
  LATENCY_SLOTS = SLOT_OF_CALL + SYSCALL_TABLE_SIZE,
};

#define LATENCY_STRIPES 16  // a power of two: CPUs that count in histograms of their own

// The operations of one slot, counted by the CPUs of one stripe. User space reads the differences,
// so a count may wrap.
struct counted_latencies {
  u32 is_used;  // 1: something was counted
  u32 reserved;
  u32 buckets[HISTOGRAM_BUCKETS];
};
WIRE_SIZE(struct counted_latencies, 8 + 4 * HISTOGRAM_BUCKETS);

enum chosen_flags {
  CHOSEN_OF_CALL = 1,  // of the native system call `subject`, else of the whole kind or user span
  CHOSEN_AT_END = 2,   // the threshold at the end of the session
};

// Written by user space when a threshold is chosen or changes, and for each slot at the end.
struct chosen_threshold {
  struct event_header header;  // from when on the threshold holds; names no thread
  u64 threshold_ns;            // 0: none yet
  u64 operations;              // counted so far, without `idle`
  u64 idle;                   // waits for work and for time among the counted operations, estimated
  u32 asked_ppm;              // percentile that was asked for, in millionths: 990,000 for p99
  u32 used_ppm;               // percentile that was chosen: higher if too much would be late
  u32 subject;                // number of the system call
  u16 span;                   // enum span_kind
  u16 flags;                  // enum chosen_flags
  char name[SPAN_TEXT_SIZE];  // of the user span
};
WIRE_SIZE(struct chosen_threshold, 120);

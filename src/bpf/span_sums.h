// SPDX-License-Identifier: GPL-2.0
// Spans that BPF programs sum up by kind and name, without a record for each.
#pragma once

#include "bpf/histogram.h"
#include "bpf/span.h"

#define SPAN_SUMS_MAX 4096  // sums at a time; those of ended epochs included, until they are read

// What gives spans of a kind their name, and whose they are: data of the kind (core/span_kinds.h).
struct span_identity {
  u64 subject_mask;   // bits of span_record.subject that matter
  u64 detail_mask;    // … of span_record.detail
  u8 has_text;        // 1: span_record.text matters
  u8 is_of_ender;     // 1: spans belong to the thread that ends them, unless …
  u8 is_of_beginner;  // 1: … to the thread that began them, if that is known
  u8 reserved[5];
};
WIRE_SIZE(struct span_identity, 24);

// Not by the names that people read: functions have names in user space only.
struct span_sum_key {
  u64 subject;
  u64 detail;
  u32 pid;  // thread that the spans belong to, where they are summed by thread; else 0
  u32 tid;
  u32 epoch;
  u16 kind;  // enum span_kind
  u16 reserved;
  char text[SPAN_TEXT_SIZE];
};
WIRE_SIZE(struct span_sum_key, 64);

// The spans of one key that ended since the last such record, header.time_ns at the latest. The
// header names a thread that ended the first one; if sums are by thread, their own with its last
// name. `subject`, `detail` and `text` are those of span_record, masked; of waits (SPAN_OFFCPU,
// SPAN_WAKEUP) what probes/sched/kinds.cc says.
struct span_sum {
  struct event_header header;
  u64 subject;
  u64 detail;
  u32 begin_pid;  // as in the key
  u32 begin_tid;
  u16 span;  // enum span_kind
  u16 reserved[3];
  char text[SPAN_TEXT_SIZE];
  u64 errors;  // spans with SPAN_FAILED
  struct latency_histogram latency;
};
WIRE_SIZE(struct span_sum, 48 + 16 + 16 + 32 + 8 + sizeof(struct latency_histogram));

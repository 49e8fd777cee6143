/* SPDX-License-Identifier: GPL-2.0 */
/* Thresholds by the names of threads. */
#pragma once

#include "bpf/glob.bpf.h"
#include "bpf/session.bpf.h"

/* Whether threads called `name` have the threshold of number `i`. Not static: the verifier then
 * checks the loop once, not for each threshold. */
__noinline bool has_threshold(const struct thread_name* name, u32 i) {
  return name && i < THREAD_THRESHOLDS && name_matches_glob(&control.by_name.globs[i], name);
}

/* is_late_by_name() for the thread whose struct task_struct is at `*address`. Not static either.
 * (The verifier lets an address pass as a number only through memory.) */
__noinline bool is_late_by_glob(const u64* address, u32 kind, u64 latency_ns) {
  u32 count = control.by_name.count;
  struct thread_name name = {};
  if (!address || kind >= SPAN_KINDS_MAX) return true;
  BPF_CORE_READ_STR_INTO(&name.text, (struct task_struct*)*address, comm);
  for (u32 i = 0; i < THREAD_THRESHOLDS && i < count; i++)
    if (has_threshold(&name, i)) return latency_ns >= control.by_name.threshold_ns[i];
  u64 others_ns = control.by_name.others_ns[kind];
  return others_ns && latency_ns >= others_ns;
}

/* Whether a span of `task` is late by the thread's name. The span must have passed
 * control.threshold_ns of its kind, the least threshold of any thread: names cost other spans
 * nothing. User space decides by the same rule, with the name in the record. */
static __always_inline bool is_late_by_name(struct task_struct* task, u32 kind, u64 latency_ns) {
  if (!control.by_name.count) return true;
  u64 address = (u64)task;
  return is_late_by_glob(&address, kind, latency_ns);
}

// SPDX-License-Identifier: GPL-2.0
// For session_test: a program that runs unusually long with a reserved record.
#include "bpf/session.bpf.h"

u32 turns;
u32 started;
u32 ended;
u64 last_turn_ns;

static long take_time(u32 turn, void* context) {
  last_turn_ns = bpf_ktime_get_ns();
  return 0;
}

SEC("iter/task")
int run_long(struct bpf_iter__task* ctx) {
  if (started) return 0;
  started = 1;
  void* ring = this_cpu_ring();
  struct event_header* record = ring ? bpf_ringbuf_reserve(ring, sizeof(*record), 0) : 0;
  if (!record) return 0;
  __builtin_memset(record, 0, sizeof(*record));
  record->size = sizeof(*record);
  bpf_loop(turns, take_time, 0, 0);
  bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
  ended = 1;
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

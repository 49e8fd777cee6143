// SPDX-License-Identifier: GPL-2.0
// How long a signal waits: from being sent to its delivery, in the thread that takes the signal.
#include "signals.h"
#include "bpf/span.bpf.h"

struct signal_key {
  u32 pid;
  u32 signal;
};

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 4096);
  __type(key, struct signal_key);
  __type(value, struct open_span);
} pending SEC(".maps");

SEC("?tp_btf/signal_generate")
int COUNTED_PROG(on_signal_generate, int signal, void* info, struct task_struct* task, int group,
                 int result) {
  if (!threshold_of(SPAN_SIGNAL) || result) return 0; /* ignored, or pending already */
  if (!(whole_machine || member_state(task)) || !cpu_wanted()) return 0;
  struct signal_key key = {task->tgid, signal};
  struct open_span span = {.subject = signal};
  begin_span(&span);
  if (bpf_map_update_elem(&pending, &key, &span, BPF_ANY)) count(COUNTER_SPANS_FULL, 1);
  return 0;
}

SEC("?tp_btf/signal_deliver")
int COUNTED_PROG(on_signal_deliver, int signal) {
  u64 threshold_ns = threshold_of(SPAN_SIGNAL);
  if (!threshold_ns) return 0;
  struct signal_key key = {bpf_get_current_task_btf()->tgid, signal};
  struct open_span* begun = bpf_map_lookup_elem(&pending, &key);
  if (!begun) return 0;
  struct ended_span span = {.kind = SPAN_SIGNAL};
  bool is_cut = begun->begin_ns < control.since_ns[SPAN_SIGNAL];
  end_span(&span, begun);
  bpf_map_delete_elem(&pending, &key);
  if (is_cut) {
    count(COUNTER_CUT, 1);
    return 0;
  }
  count(COUNTER_SPANS, 1);
  if (span.latency_ns >= threshold_ns) emit_span_with_stack(ctx, &span);
  return 0;
}

char LICENSE[] SEC("license") = "GPL";

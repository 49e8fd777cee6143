// SPDX-License-Identifier: GPL-2.0
// User spans: from one event to another with the same key. Each event is an object of its own, with
// its expressions as constants; the objects of a session share the maps.
#include "probes/pairs/pairs.h"
#include "bpf/compat.bpf.h"
#include "bpf/latencies.bpf.h"
#include "bpf/span_sums.bpf.h"
#include "bpf/target.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "probes/pairs/plan.bpf.h"
#include "probes/pairs/records.bpf.h"

const volatile u32 pair;       /* index of the span that this event belongs to */
const volatile u8 role;        /* enum pair_role */
const volatile u8 keeps_first; /* a begin whose span is open already is none */
const volatile u8 ends_inside; /* only members end the span */
const volatile u8 ends_last;   /* the span lasts until its last end: see end_with_last() */
const volatile u8 has_filter;  /* of this event */
const volatile u8 ends_alone; /* 1: an end without a begin is normal, because begins are filtered */
const volatile u8 whole_machine;

SEC(".data.pairs") struct pairs_control pairs;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct pair_key);
  __type(value, struct open_pair);
} open_pairs SEC(".maps");

/* Of open spans that last until their last end. Spans without an end yet are in open_pairs only. */
struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, 16384);
  __type(key, struct pair_key);
  __type(value, struct last_end);
} last_ends SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, PAIRS_MAX);
  __type(key, u32);
  __type(value, struct pair_counts);
} counts SEC(".maps");

/* The span of the event. With `is_ended`, a span that is to be added to the sums has ended. */
struct pair_event {
  struct pair_key key;
  u64 latency_ns;
  u32 begin_pid;
  u32 begin_tid;
  u32 is_ended;
  u32 reserved;
};

static __always_inline u64 cgroup_of(const struct thread_state* state) {
  return state ? state->cgroup_id : 0;
}

/* Notes that a span has ended which is to be added to the sums. */
static __always_inline void note_ended(struct pair_event* event, u64 latency_ns, u32 pid, u32 tid) {
  event->latency_ns = latency_ns;
  event->begin_pid = pid;
  event->begin_tid = tid;
  event->is_ended = 1;
}

/* Ends an open span that has had an end: that was its last. False: it has had none. */
static __noinline int end_with_last(struct pair_event* event, struct pair_counts* own) {
  if (!event || !own) return 0;
  const struct pair_key* key = &event->key;
  struct open_pair* found = bpf_map_lookup_elem(&open_pairs, key);
  struct last_end* end = found ? bpf_map_lookup_elem(&last_ends, key) : 0;
  if (!found || !end || end->end_ns < found->begin_ns) return 0;
  struct open_pair open = {.begin_ns = found->begin_ns, .pid = found->pid, .tid = found->tid};
  if (bpf_map_delete_elem(&open_pairs, key)) return 0; /* another CPU has the span */
  own->ends++;
  count(COUNTER_SPANS, 1);
  if (counts_latencies(SPAN_PAIR))
    count_in_slot(SLOT_OF_PAIR + pair, ns_between(open.begin_ns, end->end_ns));
  if (end->is_late && is_summed(SPAN_PAIR))
    note_ended(event, ns_between(open.begin_ns, end->end_ns), is_of_ender ? end->pid : open.pid,
               is_of_ender ? end->tid : open.tid);
  else if (end->is_late)
    emit_with_last(key, &open, end);
  bpf_map_delete_elem(&last_ends, key);
  return 1;
}

static __noinline int begin_pair(struct task_struct* task, const struct thread_state* state,
                                 struct pair_event* event, struct pair_counts* own) {
  if (!task || !event || !own) return 0;
  const struct pair_key* key = &event->key;
  struct open_pair open = {};
  bool is_ended = ends_last && end_with_last(event, own);
  if (keeps_first && !is_ended && bpf_map_lookup_elem(&open_pairs, key)) return 0;
  open.cpu = bpf_get_smp_processor_id();
  if (!is_of_ender) { /* else the running thread is chance */
    open.cgroup_id = cgroup_of(state);
    open.pid = task->tgid;
    open.tid = task->pid;
    BPF_CORE_READ_STR_INTO(&open.comm, task, comm);
  }
  if (!pairs.begun[pair & (PAIRS_MAX - 1)]) pairs.begun[pair & (PAIRS_MAX - 1)] = 1;
  own->begins++;
  u64 now_ns = bpf_ktime_get_ns();
  open.has_sums = !is_of_ender && read_own_sums(task, now_ns, &open.sums);
  open.begin_ns = bpf_ktime_get_ns(); /* last: the work above is not the span's time */
  open.sums.parts.oncpu_ns += open.begin_ns - now_ns;
  if (!bpf_map_update_elem(&open_pairs, key, &open, BPF_NOEXIST)) return 0;
  if (!bpf_map_update_elem(&open_pairs, key, &open, BPF_EXIST)) {
    own->replaced++;
    count(COUNTER_UNMATCHED, 1);
    return 0;
  }
  own->full++;
  count(COUNTER_SPANS_FULL, 1);
  return 0;
}

/* An end without a known begin. Before the first begin, the end may belong to a span older than the
 * session, and so means nothing. */
static __always_inline void end_unmatched(bool wanted, struct pair_counts* own) {
  if (ends_alone || !wanted || !pairs.begun[pair & (PAIRS_MAX - 1)]) return;
  own->unmatched++;
  count(COUNTER_UNMATCHED, 1);
}

/* Whether a span that ends now, after `latency_ns`, is to be reported. */
static __always_inline bool is_late_pair(struct task_struct* task, u32 begin_tid, u64 latency_ns) {
  u64 own_ns = pairs.threshold_ns[pair & (PAIRS_MAX - 1)];
  u64 limit_ns = own_ns ?: control.threshold_ns[SPAN_PAIR];
  if (!limit_ns || latency_ns < limit_ns) return false;
  /* If two threads are involved, user space knows whose span it is, and which name counts. */
  return own_ns || begin_tid != (u32)task->pid || is_late_by_name(task, SPAN_PAIR, latency_ns);
}

static const struct last_end no_end;

/* The entry for ends of the span; null: there is no room. */
static __always_inline struct last_end* last_end_of(const struct pair_key* key) {
  struct last_end* end = bpf_map_lookup_elem(&last_ends, key);
  if (end) return end;
  bpf_map_update_elem(&last_ends, key, &no_end, BPF_NOEXIST);
  return bpf_map_lookup_elem(&last_ends, key);
}

/* An end of a span that may have more of them. Not inline: its variables need a stack of their own.
 */
static __noinline int note_end(struct task_struct* task, const struct thread_state* state,
                               const struct pair_key* key, struct pair_counts* own, u64 now_ns) {
  if (!task || !key || !own) return 0;
  struct open_pair* open = bpf_map_lookup_elem(&open_pairs, key);
  if (!open) {
    end_unmatched(state || whole_machine, own);
    return 0;
  }
  struct last_end* end = last_end_of(key);
  if (!end) {
    count(COUNTER_SPANS_FULL, 1);
    return 0;
  }
  struct ledger_sums sums = {};
  end->is_late = is_late_pair(task, open->tid, ns_between(open->begin_ns, now_ns));
  end->flags = end->is_late ? read_parts(&sums, task, open, now_ns) : 0;
  end->ledger = sums.parts;
  end->throttled_ns = sums.throttled_ns;
  end->end_ns = now_ns;
  end->cgroup_id = state ? state->cgroup_id : open->cgroup_id;
  end->pid = task->tgid;
  end->tid = task->pid;
  end->cpu = bpf_get_smp_processor_id();
  BPF_CORE_READ_STR_INTO(&end->comm, task, comm);
  return 0;
}

/* Not inline: its variables need a stack of their own. */
static __noinline int end_pair(struct task_struct* task, const struct thread_state* state,
                               struct pair_event* event, struct pair_counts* own, u64 now_ns) {
  if (!task || !event || !own) return 0;
  const struct pair_key* key = &event->key;
  struct open_pair* found = bpf_map_lookup_elem(&open_pairs, key);
  if (!found) {
    end_unmatched(state || whole_machine, own);
    return 0;
  }
  struct open_pair open = *found;
  /* Of two ends at the same time on two CPUs, one gets the span. */
  if (bpf_map_delete_elem(&open_pairs, key)) return 0;
  if (is_of_ender) {
    if (!state && !whole_machine) return 0;
    open.pid = task->tgid;
    open.tid = task->pid;
  }
  own->ends++;
  count(COUNTER_SPANS, 1);
  u64 latency_ns = ns_between(open.begin_ns, now_ns);
  if (counts_latencies(SPAN_PAIR)) count_in_slot(SLOT_OF_PAIR + pair, latency_ns);
  if (!is_late_pair(task, open.tid, latency_ns)) return 0;
  if (is_summed(SPAN_PAIR))
    note_ended(event, latency_ns, open.pid, open.tid);
  else
    emit_pair(task, state, key, &open, now_ns);
  return 0;
}

static __always_inline void drop_pair(struct pair_event* event, struct pair_counts* own) {
  if (ends_last && end_with_last(event, own)) return;
  if (!bpf_map_delete_elem(&open_pairs, &event->key)) own->dropped++;
}

/* Adds the ended span to the sums. Called from the outermost function, which leaves more stack than
 * those that end a span. */
static __noinline int sum_pair(struct task_struct* task, const struct pair_event* event) {
  if (!task || !event) return 0;
  struct span_sum_key key = {.pid = event->begin_pid, .tid = event->begin_tid, .kind = SPAN_PAIR};
  for (u32 i = 0; i < SPAN_TEXT_SIZE; i++) key.text[i] = pair_name[i];
  if (!add_to_sum(&key, event->latency_ns, task, 0)) count(COUNTER_CELLS_FULL, 1);
  return 0;
}

enum reading { READ_KEY, READ_OTHER_EVENT, READ_NOTHING };

/* Reads the key of the span, unless the filter leaves the event out. Not inline: the stack machine
 * needs most of the room that functions have together. */
static __noinline int read_key(void* ctx, struct pair_key* key) {
  struct plan_values values = {};
  if (!key) return READ_NOTHING;
  plan_run(&plan, ctx, &values);
  bool is_filter_known = !(values.unread & (1 << PLAN_FILTER));
  if (has_filter && is_filter_known && !values.result[PLAN_FILTER]) return READ_OTHER_EVENT;
  if (values.unread) return READ_NOTHING;
  key->key[0] = values.result[PLAN_KEY];
  key->key[1] = values.result[PLAN_SECOND_KEY];
  return READ_KEY;
}

/* A span belongs to the target if a member began it; any thread may end it. With is_of_ender, a
 * member ends it. */
static __always_inline int on_event(void* ctx) {
  if (!control.armed) return 0;
  struct task_struct* task = bpf_get_current_task_btf();
  struct thread_state* state = member_state(task);
  if (role == PAIR_BEGIN && !is_of_ender && !whole_machine && !state) return 0;
  if (role == PAIR_END && ends_inside && !whole_machine && !state) return 0;
  if (role == PAIR_BEGIN && !cpu_wanted()) return 0;
  /* Nothing is open yet: most programs make no request of most kinds. */
  if (role != PAIR_BEGIN && !pairs.begun[pair & (PAIRS_MAX - 1)]) return 0;
  u64 now_ns = role == PAIR_BEGIN ? 0 : bpf_ktime_get_ns(); /* first: nor is the work below */
  u32 index = pair;
  struct pair_counts* own = bpf_map_lookup_elem(&counts, &index);
  if (!own) return 0;
  struct pair_event event = {.key.pair = index};
  int reading = read_key(ctx, &event.key);
  if (reading == READ_NOTHING) {
    own->unread++;
    count(COUNTER_SPANS_UNREAD, 1);
  }
  if (reading != READ_KEY) return 0;
  if (role == PAIR_BEGIN)
    begin_pair(task, state, &event, own);
  else if (role == PAIR_DROP)
    drop_pair(&event, own);
  else if (ends_last)
    note_end(task, state, &event.key, own, now_ns);
  else
    end_pair(task, state, &event, own, now_ns);
  if (event.is_ended) sum_pair(task, &event);
  return 0;
}

SEC("?tp_btf/sched_process_exec")
int COUNTED_PROG(on_raw_tracepoint) {
  return on_event(ctx);
}

SEC("?tp/sched/sched_process_exec")
int COUNTED_PROG(on_tracepoint) {
  return on_event(ctx);
}

SEC("?fentry/do_exit")
int COUNTED_PROG(on_function) {
  return on_event(ctx);
}

SEC("?fexit/do_exit")
int COUNTED_PROG(on_function_return) {
  return on_event(ctx);
}

SEC("?uprobe")
int COUNTED_PROG(on_user_function) {
  return on_event(ctx);
}

char LICENSE[] SEC("license") = "GPL";

/* SPDX-License-Identifier: GPL-2.0 */
/* The threads that recently had a CPU, for a thread that could run there and did not. Runs are
 * summed per thread in slices, each a fraction of the shortest delay of interest: 64 slices reach
 * back far enough however short the runs are, and a switch costs the same few stores. */
#pragma once

#include "bpf/wait.bpf.h"

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct sched_runs);
} runs_scratch SEC(".maps");

/* Addresses of threads, in memory: see is_late_by_glob(). */
struct changing_threads {
  u64 prev;
  u64 next;
  u32 prev_tid;
  u32 reserved;
};

static __always_inline void add_to_slice(struct cpu_slice* slice, u64 task, u32 tid, u64 ns) {
  for (int i = 0; i < SLICE_THREADS; i++) {
    if (slice->ns[i] && slice->tids[i] != tid) continue;
    slice->ns[i] += ns;
    slice->tids[i] = tid;
    slice->tasks[i] = task;
    return;
  }
  slice->others_ns += ns;
}

static __always_inline struct cpu_slice* begin_slice(struct cpu_runs* runs, u64 begin_ns) {
  u64 begun = ++runs->begun;
  struct cpu_slice* slice = &runs->slices[begun % SLICES_KEPT];
  __builtin_memset(slice, 0, sizeof(*slice));
  slice->begin_ns = begin_ns;
  return slice;
}

/* One thread leaves the CPU for another. If a switch was not seen, the time before it is unknown. A
 * long run has a slice of its own, which can be cut anywhere. Not static: see
 * throttled_since_mark(). */
__noinline int change_run(struct cpu_runs* runs, const struct changing_threads* threads,
                          u64 now_ns) {
  if (!runs || !threads) return 0;
  u64 slice_ns = control.slice_ns;
  struct cpu_slice* slice = &runs->slices[runs->begun % SLICES_KEPT];
  u64 ran_ns = runs->task == threads->prev ? ns_between(runs->since_ns, now_ns) : 0;
  if (ran_ns >= slice_ns && slice->begin_ns < runs->since_ns)
    slice = begin_slice(runs, runs->since_ns);
  if (ran_ns) add_to_slice(slice, threads->prev, threads->prev_tid, ran_ns);
  runs->last_ns = ran_ns;
  runs->task = threads->next;
  runs->since_ns = now_ns;
  if (ns_between(slice->begin_ns, now_ns) >= slice_ns) begin_slice(runs, now_ns);
  return 0;
}

/* A hardened kernel may hide the switch that brought `prev`: the scheduler's own note says since
 * when `prev` ran. */
static __always_inline void begin_unseen_run(struct cpu_ledger* cpu, const struct task_struct* prev,
                                             u64 now_ns) {
  u64 since_ns = arrival_of(prev, cpu);
  if (!prev->pid || since_ns <= cpu->runs.since_ns || since_ns >= now_ns) return;
  cpu->runs.task = (u64)prev;
  cpu->runs.since_ns = since_ns;
}

static __always_inline void note_run(struct cpu_ledger* cpu, const struct task_struct* prev,
                                     const struct task_struct* next, u64 now_ns) {
  if (!control.slice_ns) return;
  if (cpu->runs.task != (u64)prev) begin_unseen_run(cpu, prev, now_ns);
  struct changing_threads threads = {.prev = (u64)prev, .next = (u64)next, .prev_tid = prev->pid};
  change_run(&cpu->runs, &threads, now_ns);
}

/* Not static, like the functions below: see throttled_since_mark(). */
__noinline int add_run(struct sched_runs* to, u64 address, u32 tid, u64 ns) {
  if (!to || !ns) return 0;
  struct task_struct* task = (struct task_struct*)address;
  for (int i = 0; i < RUNS_NAMED; i++) {
    struct sched_run* run = &to->runs[i];
    if (run->ns && run->tid != tid) continue;
    if (!run->ns && (u32)BPF_CORE_READ(task, pid) == tid)
      BPF_CORE_READ_STR_INTO(&run->comm, task, comm);
    run->tid = tid;
    run->ns += ns;
    return 0;
  }
  to->others_ns += ns;
  return 0;
}

/* Adds the part of the slice after `from_ns`. The slice ended at `end_ns`. If it began before
 * `from_ns`, the part is known only if one thread had the whole slice. */
__noinline int add_slice(struct sched_runs* to, const struct cpu_slice* slice, u64 from_ns,
                         u64 end_ns) {
  if (!to || !slice) return 0;
  u64 after_ns = ns_between(from_ns, end_ns);
  if (slice->begin_ns < from_ns) {
    if (slice->ns[1] || slice->others_ns) return 0;
    return add_run(to, slice->tasks[0], slice->tids[0],
                   slice->ns[0] < after_ns ? slice->ns[0] : after_ns);
  }
  to->others_ns += slice->others_ns;
  for (int i = 0; i < SLICE_THREADS; i++)
    add_run(to, slice->tasks[i], slice->tids[i], slice->ns[i]);
  return 0;
}

/* The current thread, checked by on_cpu: a hardened kernel may hide the switch that replaced it. */
static __always_inline void add_running(struct sched_runs* to, u64 address, u64 ns) {
  const struct task_struct* task = (const struct task_struct*)address;
  if (task && BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu))
    add_run(to, address, BPF_CORE_READ(task, pid), ns);
}

__noinline int collect_runs(struct sched_runs* to, const struct cpu_runs* of, u64 from_ns,
                            u64 now_ns) {
  if (!to || !of) return 0;
  u64 end_ns = of->since_ns < now_ns ? of->since_ns : now_ns;
  u64 running_ns = ns_between(end_ns > from_ns ? end_ns : from_ns, now_ns);
  if (running_ns) add_running(to, of->task, running_ns);
  for (u32 i = 0; i < SLICES_KEPT && end_ns > from_ns; i++) {
    const struct cpu_slice* slice = &of->slices[(of->begun - i) % SLICES_KEPT];
    if (!slice->begin_ns) return 0;
    add_slice(to, slice, from_ns, end_ns);
    end_ns = slice->begin_ns;
  }
  return 0;
}

/* When the incoming thread became runnable on this CPU. It may have come from the run queue of
 * another CPU: note_runs_there() covers a long stay there. */
static __always_inline u64 queued_here_since(const struct task_struct* task,
                                             const struct thread_ledger* ledger,
                                             const struct cpu_ledger* cpu, u64 now_ns) {
  u64 since_ns = runnable_since(ledger, now_ns) + ledger->throttled_ns;
  if (ledger->runs_until_ns > since_ns) return ledger->runs_until_ns;
  u64 queued_ns = queued_since(task, cpu);
  return queued_ns > since_ns && queued_ns < now_ns ? queued_ns : since_ns;
}

/* Records the threads that ran on the CPU of `of` while the thread at `*address` could run. That
 * thread comes or goes at `now_ns`. */
__noinline int record_runs(const u64* address, const struct cpu_runs* of, u64 from_ns, u64 now_ns) {
  u32 zero = 0;
  struct sched_runs* runs = bpf_map_lookup_elem(&runs_scratch, &zero);
  void* ring = this_cpu_ring();
  if (!address || !of || !runs || !ring) return 0;
  __builtin_memset(runs, 0, sizeof(*runs));
  fill_front(&runs->header, *address, RECORD_SCHED_RUNS, sizeof(*runs), now_ns);
  collect_runs(runs, of, from_ns, now_ns);
  if (bpf_ringbuf_output(ring, runs, sizeof(*runs), BPF_RB_NO_WAKEUP)) count(COUNTER_RING_FULL, 1);
  return 0;
}

/* Records the same if the delay is long enough. For a shorter delay the last run suffices: returns
 * how long it had the CPU while the thread could run. */
static __always_inline u64 note_runs(struct task_struct* task, const struct thread_ledger* ledger,
                                     u64 now_ns) {
  const struct cpu_ledger* cpu = this_cpu_ledger();
  if (!cpu) return 0;
  u64 from_ns = queued_here_since(task, ledger, cpu, now_ns);
  u64 ready_ns = ns_between(from_ns, now_ns), last_ns = cpu->runs.last_ns;
  if (ready_ns > control.slice_ns / 4) {
    u64 address = (u64)task;
    record_runs(&address, &cpu->runs, from_ns, now_ns);
  }
  return last_ns < ready_ns ? last_ns : ready_ns;
}

/* The same for the CPU of `there`, whose run queue the thread leaves for that of another CPU. The
 * queue is locked, so the runs do not change. */
static __always_inline void note_runs_there(struct task_struct* task, struct thread_ledger* ledger,
                                            const struct cpu_ledger* there, u64 now_ns) {
  u64 from_ns = runnable_since(ledger, now_ns);
  if (ledger->runs_until_ns > from_ns) from_ns = ledger->runs_until_ns;
  if (ns_between(from_ns, now_ns) <= control.slice_ns / 4) return;
  u64 address = (u64)task;
  record_runs(&address, &there->runs, from_ns, now_ns);
  ledger->runs_until_ns = now_ns;
}

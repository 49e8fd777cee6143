/* SPDX-License-Identifier: GPL-2.0 */
/* Totals of the target's threads by CPU. The time of a wait counts for the CPU that the thread
 * left, wherever the thread runs next. */
#pragma once

#include "bpf/offcpu.h"
#include "bpf/totals.bpf.h"

const volatile u8 keeps_cpus;

/* One for each CPU with keeps_cpus. User space reads them, and clears what an epoch left. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cpu_totals);
} totals_of_cpus SEC(".maps");

/* The totals of a thread before a switch, which may end a wait, and a run. */
struct totals_mark {
  struct offcpu_sums sums;
  u64 waits;
  u64 preemptions;
  u32 number;
  u32 cpu; /* that the thread left */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct totals_mark);
} totals_marks SEC(".maps");

static __noinline int mark_totals(const struct thread_ledger* ledger) {
  u32 zero = 0;
  struct totals_mark* mark = bpf_map_lookup_elem(&totals_marks, &zero);
  if (!ledger || !mark) return 0;
  mark->sums = ledger->totals.sums;
  mark->waits = ledger->totals.waits;
  mark->preemptions = ledger->totals.preemptions;
  mark->number = ledger->totals.number;
  mark->cpu = ledger->cpu;
  return 0;
}

static __always_inline void add_shared(u64* to, u64 now, u64 before) {
  if (now != before) __sync_fetch_and_add(to, now - before);
}

/* A failed exchange means that another CPU has stored its wait: after so many, the wait is left
 * out. */
#define EXCHANGES 8

static __always_inline void note_longest_of_cpu(u64* longest, u64 wait_ns) {
  for (u32 i = 0; i < EXCHANGES; i++) {
    u64 seen = *longest;
    if (seen >= wait_ns || __sync_val_compare_and_swap(longest, seen, wait_ns) == seen) return;
  }
}

/* Adds what the totals of `ledger` have gained since mark_totals(). Several CPUs may do so at once
 * for one CPU, which some threads left for others. */
static __noinline int count_for_cpus(const struct thread_ledger* ledger) {
  u32 zero = 0, here = bpf_get_smp_processor_id();
  struct totals_mark* mark = bpf_map_lookup_elem(&totals_marks, &zero);
  if (!ledger || !mark || !ledger->totals.member) return 0;
  const struct thread_totals* totals = &ledger->totals;
  if (mark->number != totals->number) { /* the totals began at this switch */
    __builtin_memset(&mark->sums, 0, sizeof(mark->sums));
    mark->waits = mark->preemptions = 0;
  }
  struct cpu_totals* running = bpf_map_lookup_elem(&totals_of_cpus, &here);
  struct cpu_totals* left = bpf_map_lookup_elem(&totals_of_cpus, &mark->cpu);
  if (!running || !left) return 0;
  const struct offcpu_sums *now = &totals->sums, *before = &mark->sums;
  add_shared(&running->sums.oncpu_ns, now->oncpu_ns, before->oncpu_ns);
  if (totals->waits == mark->waits) return 0;
  add_shared(&left->sums.sleeping_ns, now->sleeping_ns, before->sleeping_ns);
  add_shared(&left->sums.uninterruptible_ns, now->uninterruptible_ns, before->uninterruptible_ns);
  add_shared(&left->sums.runqueue_ns, now->runqueue_ns, before->runqueue_ns);
  add_shared(&left->sums.preempted_ns, now->preempted_ns, before->preempted_ns);
  add_shared(&left->sums.throttled_ns, now->throttled_ns, before->throttled_ns);
  add_shared(&left->waits, totals->waits, mark->waits);
  add_shared(&left->preemptions, totals->preemptions, mark->preemptions);
  u64 wait_ns = now->sleeping_ns - before->sleeping_ns + now->uninterruptible_ns -
                before->uninterruptible_ns + now->runqueue_ns - before->runqueue_ns +
                now->preempted_ns - before->preempted_ns + now->throttled_ns - before->throttled_ns;
  note_longest_of_cpu(&left->longest_ns[control.totals_epoch & 1], wait_ns);
  return 0;
}

/* Adds the wait or run of a thread that goes on: the part of `sums` that the thread's totals do not
 * have yet. Runs in an iterator, one thread after the other. */
static __always_inline void add_present_of_cpu(const struct thread_ledger* ledger,
                                               const struct offcpu_sums* sums, u64 open_ns) {
  u32 cpu = ledger->cpu;
  struct cpu_totals* there = bpf_map_lookup_elem(&totals_of_cpus, &cpu);
  if (!there) return;
  struct offcpu_sums* present = &there->present;
  const struct offcpu_sums* ended = &ledger->totals.sums;
  present->oncpu_ns += ns_between(ended->oncpu_ns, sums->oncpu_ns);
  present->sleeping_ns += ns_between(ended->sleeping_ns, sums->sleeping_ns);
  present->uninterruptible_ns += ns_between(ended->uninterruptible_ns, sums->uninterruptible_ns);
  present->runqueue_ns += ns_between(ended->runqueue_ns, sums->runqueue_ns);
  present->preempted_ns += ns_between(ended->preempted_ns, sums->preempted_ns);
  present->throttled_ns += ns_between(ended->throttled_ns, sums->throttled_ns);
  if (there->open_ns < open_ns) there->open_ns = open_ns;
}

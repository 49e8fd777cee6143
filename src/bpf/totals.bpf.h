/* SPDX-License-Identifier: GPL-2.0 */
/* Sums of the waits and runs of a thread. Ledgers have such sums of every thread since its begin;
 * totals have the time within the session, and only if the thread belongs to the target and waits
 * on a CPU of --cpu. Begun by probes/sched, and added to at the end of each wait and run. */
#pragma once

#include "bpf/offcpu.h"
#include "bpf/target.bpf.h"
#include "bpf/thread_ledger.h"

/* A time before the session, or in a pause, does not count. */
static __always_inline u64 measured_from(u64 begin_ns) {
  u64 start_ns = control.since_ns[SPAN_OFFCPU];
  return begin_ns < start_ns ? start_ns : begin_ns;
}
static __always_inline u64 measured_until(u64 end_ns) {
  u64 disarmed_ns = control.disarmed_ns;
  return control.armed || end_ns < disarmed_ns ? end_ns : disarmed_ns;
}

/* Takes up to `ns` away from a part. Returns the rest. */
static __always_inline u64 trim(u64* part, u64 ns) {
  u64 taken = *part < ns ? *part : ns;
  *part -= taken;
  return ns - taken;
}

/* The parts of a wait: the thread was blocked, then runnable, for a part of the time throttled. */
struct wait_parts {
  u64 blocked_ns;
  u64 throttled_ns;
  u64 ready_ns;
};

/* Leaves the measured part of a wait from `begin_ns` to `end_ns`. */
static __always_inline void leave_measured(struct wait_parts* parts, u64 begin_ns, u64 end_ns) {
  u64 early_ns = ns_between(begin_ns, measured_from(begin_ns));
  u64 late_ns = ns_between(measured_until(end_ns), end_ns);
  if (early_ns)
    trim(&parts->ready_ns, trim(&parts->throttled_ns, trim(&parts->blocked_ns, early_ns)));
  if (late_ns)
    trim(&parts->blocked_ns, trim(&parts->throttled_ns, trim(&parts->ready_ns, late_ns)));
}

/* Whether another thread displaced the thread of `ledger`, which was runnable throughout its wait.
 */
static __always_inline bool is_preempted(const struct thread_ledger* ledger) {
  return ledger->state == LEDGER_PREEMPTED && !ledger->throttled_ns && !ledger->is_left_idle;
}

/* Adds a wait that is measured. A runnable thread that left its CPU idle was not preempted: its
 * time is unknown. */
static __always_inline void add_parts(struct offcpu_sums* sums, const struct wait_parts* parts,
                                      u32 state, bool left_idle) {
  sums->throttled_ns += parts->throttled_ns;
  if (state == LEDGER_PREEMPTED && !parts->throttled_ns) {
    if (!left_idle) sums->preempted_ns += parts->ready_ns;
    return;
  }
  sums->runqueue_ns += parts->ready_ns;
  if (state == LEDGER_UNINTERRUPTIBLE)
    sums->uninterruptible_ns += parts->blocked_ns;
  else
    sums->sleeping_ns += parts->blocked_ns;
}

/* The longest waits of two epochs are kept: a reader gets that of the last one. */
static __always_inline void note_longest(struct thread_totals* totals, u64 wait_ns) {
  u32 epoch = control.totals_epoch;
  if (totals->epoch != epoch) {
    totals->earlier_epoch = totals->epoch;
    totals->earlier_ns = totals->longest_ns;
    totals->epoch = epoch;
    totals->longest_ns = 0;
  }
  if (totals->longest_ns < wait_ns) totals->longest_ns = wait_ns;
}

/* Counts the wait of `ledger` that ends at `end_ns` on this CPU. Returns its measured time. Not
 * static: see throttled_since_mark(). */
__noinline u64 count_wait(struct thread_ledger* ledger, struct wait_parts* parts, u64 end_ns) {
  if (!ledger || !parts || !cpu_wanted()) return 0;
  struct thread_totals* totals = &ledger->totals;
  leave_measured(parts, ledger->since_ns, end_ns);
  u64 wait_ns = parts->blocked_ns + parts->throttled_ns + parts->ready_ns;
  if (!wait_ns) return 0;
  add_parts(&totals->sums, parts, ledger->state, ledger->is_left_idle);
  if (ledger->reason < WAIT_REASONS) totals->reason_ns[ledger->reason] += parts->blocked_ns;
  totals->waits++;
  if (is_preempted(ledger)) totals->preemptions++;
  note_longest(totals, wait_ns);
  return wait_ns;
}

/* Counts the run of `ledger` that ends at `end_ns` on this CPU. */
static __always_inline void count_run(struct thread_ledger* ledger, u64 end_ns) {
  if (ledger->state != LEDGER_ON_CPU || !cpu_wanted()) return;
  ledger->totals.sums.oncpu_ns +=
      ns_between(measured_from(ledger->since_ns), measured_until(end_ns));
}

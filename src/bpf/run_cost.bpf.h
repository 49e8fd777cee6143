/* SPDX-License-Identifier: GPL-2.0 */
/* What measuring costs: every program counts its runs, and times few of them itself.
 *
 * Nothing else counts them. The kernel's statistics (kernel.bpf_stats_enabled) are off, for they
 * read a clock twice at each run of every program of the machine, which is more than most of ours
 * take. /proc/stat has switches and interrupts but neither wake-ups nor system calls; our counts of
 * calls and cells have the target's only; and none of them knows what a run took, which depends on
 * whether the thread is a member, whether something was late, and on the caches. So: one word more
 * on the CPU's own cache line, which the run has to compare with the number of the next to be
 * timed. Each of a program's first runs is timed, later every 251st (a prime: what comes in turn is
 * not seen in step), and stands for those since the one before it.
 *
 * What the kernel takes to come to a program and back is not seen from within. A time has two
 * readings of the clock in it instead, which is about as much: an empty hook costs a system call 72
 * ns where a reading takes 33 (docs/benchmarks-stalls.md has the former). The kernel's statistics
 * have one reading in them, and a part of the way: the two agree mostly within 20 %. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/run_cost.h"
#include "bpf/unpreempted.bpf.h"

#define TIMED_EVERY 251
#define TIMED_DENSELY_LOG2 5 /* one of so many of the runs so far, until then */
#define INTERRUPTED_NS                                                      \
  (1000 * 1000) /* no run of ours takes as long: something else had the CPU \
                 */

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct run_costs);
} run_costs SEC(".maps");

/* Whether the thread that runs here belongs to the target. */
static __always_inline bool runs_for_target(void);

#define PROGRAM_NUMBER                                         \
  ({                                                           \
    enum { program_number = __COUNTER__ };                     \
    _Static_assert(program_number < PROGRAMS_MAX, "too many"); \
    (u32) program_number;                                      \
  })

static __always_inline struct run_cost* begin_run(u32 program) {
  u32 zero = 0;
  struct run_costs* costs = bpf_map_lookup_elem(&run_costs, &zero);
  if (!costs) return 0;
  struct run_cost* cost = &costs->of[program];
  if (++cost->runs >= cost->next) cost->begin_ns = bpf_ktime_get_ns();
  return cost;
}

static __noinline int price_run(struct run_cost* cost) {
  if (!cost) return 0;
  bpf_ktime_get_ns();
  u64 took_ns = bpf_ktime_get_ns() - cost->begin_ns;
  cost->begin_ns = 0;
  if (took_ns > INTERRUPTED_NS) return 0; /* the next one instead */
  u64 runs = cost->runs;
  u64 stands_for = runs - cost->priced;
  u64 step = runs >> TIMED_DENSELY_LOG2;
  cost->next = runs + 1 + (step < TIMED_EVERY - 1 ? step : TIMED_EVERY - 1);
  cost->priced = runs;
  cost->ns += took_ns * stands_for;
  cost->squares += took_ns * took_ns * stands_for;
  cost->weights += stands_for * stands_for;
  if (runs_for_target()) cost->target_ns += took_ns * stands_for;
  return 0;
}

static __always_inline void end_run(struct run_cost* cost) {
  if (cost->begin_ns) price_run(cost);
}

/* `before` and `after` stand around all of it. Every program of an object has a number of its own.
 */
#define COUNTED_PROG_BETWEEN(before, after, name, args...)                                        \
  name(unsigned long long* ctx);                                                                  \
  static __always_inline int counted_##name(unsigned long long* ctx, ##args);                     \
  int name(unsigned long long* ctx) {                                                             \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wint-conversion\"") before; \
    int result = 0;                                                                               \
    struct run_cost* cost = begin_run(PROGRAM_NUMBER);                                            \
    if (cost) {                                                                                   \
      result = counted_##name(___bpf_ctx_cast(args));                                             \
      end_run(cost);                                                                              \
    }                                                                                             \
    after;                                                                                        \
    return result;                                                                                \
    _Pragma("GCC diagnostic pop")                                                                 \
  }                                                                                               \
  static __always_inline int counted_##name(unsigned long long* ctx, ##args)

/* As BPF_PROG(): a program whose runs are counted, as those of all that run while we measure. */
#define COUNTED_PROG(name, args...) COUNTED_PROG_BETWEEN((void)0, (void)0, name, ##args)

/* The same for tracepoints that threads come by where they can be preempted. */
#define UNPREEMPTED_PROG(name, args...) \
  COUNTED_PROG_BETWEEN(forbid_preemption(), allow_preemption(), name, ##args)

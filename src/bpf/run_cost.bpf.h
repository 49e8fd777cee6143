/* SPDX-License-Identifier: GPL-2.0 */
/* The cost of measuring: every program counts its runs, and times a few of them itself.
 *
 * There is no other source. The kernel's statistics (kernel.bpf_stats_enabled) are off, since they
 * read a clock twice at each run of every program on the machine, which takes longer than most of
 * our programs do. /proc/stat counts context switches and interrupts, but neither wake-ups nor
 * system calls. Our counts of calls and cells cover the target only. And none of these knows the
 * time of a run, which depends on whether the thread is a member, whether a span was late, and on
 * the caches. So each run counts up a word in a cache line of its CPU and compares it with the
 * number of the next run to be timed. The first runs of a program are all timed, later ones every
 * 251st: a prime, so that periodic runs are not sampled in step. A timed run represents all runs
 * since the previous timed run.
 *
 * A program cannot see the time that the kernel takes to enter and leave it. Instead, each measured
 * time includes two clock readings, which take about as long: an empty hook costs a system call 72
 * ns, and a reading takes 33 ns (docs/benchmarks-stalls.md has the former). The kernel's statistics
 * include one reading and a part of entering and leaving. The two mostly agree within 20 %. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/run_cost.h"
#include "bpf/unpreempted.bpf.h"

#define TIMED_EVERY 251
#define TIMED_DENSELY_LOG2 5 /* before that, the step is the number of runs >> 5 */
#define INTERRUPTED_NS                                                      \
  (1000 * 1000) /* no run of ours takes as long: something else had the CPU \
                 */

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct run_costs);
} run_costs SEC(".maps");

/* Whether the running thread belongs to the target. */
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
  if (took_ns > INTERRUPTED_NS) return 0; /* the next run is timed instead */
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

/* `before` and `after` enclose the whole program. Each program of an object has its own number. */
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

/* As BPF_PROG(), with runs counted: for all programs that run during a measurement. */
#define COUNTED_PROG(name, args...) COUNTED_PROG_BETWEEN((void)0, (void)0, name, ##args)

/* The same for tracepoints in preemptible code. */
#define UNPREEMPTED_PROG(name, args...) \
  COUNTED_PROG_BETWEEN(forbid_preemption(), allow_preemption(), name, ##args)

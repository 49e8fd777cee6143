// SPDX-License-Identifier: GPL-2.0
// What user space may change while programs run. Mapped by user space, shared by every program of a
// session. Also the counters every program keeps.
#pragma once

#include "bpf/glob.h"
#include "bpf/span.h"

#define THREAD_THRESHOLDS 8

// What is late by the name of its thread: what the first glob that matches says, else what holds
// for others. Nobody reads these while they are written, see kernel/thresholds.h.
struct thread_thresholds {
  u32 count;  // of globs; 0: names are not looked at
  u32 reserved;
  u64 threshold_ns[THREAD_THRESHOLDS];
  u64 others_ns[SPAN_COUNT];  // by enum span_kind; 0: others are never late
  struct glob_program globs[THREAD_THRESHOLDS];
};
WIRE_SIZE(struct thread_thresholds, 200 + THREAD_THRESHOLDS * 258 * 8);

struct session_control {
  u32 armed;  // 1: spans may begin. One store starts all probes together
  u32 epoch;  // parity names the half of every cell pool that is written; see cells.bpf.h
  u32 phase;  // 2: after the discovery phase of a two-phase run
  u32 moves;  // counts processes put into another cgroup; their threads are for user space to look
              // at
  u64 threshold_ns[SPAN_COUNT];  // by enum span_kind; spans at or over it are stalls, as far as the
                                 // names of their threads have no say. 0: not wanted
  u64 since_ns[SPAN_COUNT];  // by enum span_kind: since when it is wanted, and the session armed.
                             // What began before may have lost its end, or have another's: it
                             // is not paired. Written before what it is about
  u64 wait_min_ns;           // waits as long as this are recorded, whoever's they are; 0: none
  u64 slice_ns;              // who runs on a CPU is summed up for as long as this; 0: not at all
  u64 resumed_ns;            // when it was last armed again after a pause; 0: never
  u64 quiet_ns;              // what began after the last look at the clock on its CPU (see
                             // cpu_ledger) is shorter than this; 0: nobody knows
  u64 quiet_from_ns;         // looks from then on tell of it: the hooks are attached
  u32 releases;    // of members that are none any more: what is known of members holds no longer
  u32 calls_stay;  // 1: open calls are listed, and stay where they are: see call.bpf.h
  struct thread_thresholds by_name;
};
WIRE_SIZE(struct session_control, 320 + sizeof(struct thread_thresholds));

// Per-CPU counters, kept by each BPF object. Reasons for loss come first; docs/loss.md explains
// each.
enum session_counter {
  COUNTER_RING_FULL,     // a record found no room in its CPU's ring buffer
  COUNTER_CELLS_FULL,    // an aggregate found no free cell
  COUNTER_TASK_STORAGE,  // the kernel gave no task storage: the thread is not measured
  COUNTER_UNMATCHED,     // an end without a begin
  COUNTER_CUT,  // a span that had begun before the session, or lost its hook at a change of phases
  COUNTER_CPU_NS,       // CPU time of target threads that have ended, in ns
  COUNTER_DEPARTURES,   // how often those have left the CPU
  COUNTER_TEXT_UNREAD,  // calls with a string argument that could not be read
  COUNTER_BEYOND_SETS,  // calls left out because sets (-e, --discover) have no bit for their number
  COUNTER_SPANS_FULL,   // a span found no room in the table of open ones
  COUNTER_SPANS_UNREAD,   // an event of a user-defined span whose key or filter could not be read
  COUNTER_CALLERS_LOST,   // calls whose stack found no room: their callers are not known
  COUNTER_WORST_BUSY,     // wake-ups not followed, since another CPU held the one that is
  COUNTER_WORST_WINDOWS,  // windows worth keeping for which there was no room
  COUNTER_NESTED,   // runs of a program that the kernel left out: it ran already on that CPU. Kept
                    // by the kernel
  COUNTER_REFUSED,  // calls that seccomp or a tracer answered before they began
  COUNTER_SPANS,    // spans that ended, late or not, but system calls
  // Of all runs since the programs were loaded, as user space reads them from run_costs
  // (run_cost.h):
  COUNTER_RUNS,
  COUNTER_RUN_NS,         // what they took
  COUNTER_RUN_TARGET_NS,  // of that, in threads of the target
  COUNTER_RUN_VARIANCE,   // of COUNTER_RUN_NS, in ns squared
  COUNTER_STATS_RUNS,     // by the kernel's statistics, while those were on
  COUNTER_STATS_NS,
  COUNTER_COUNT,
};

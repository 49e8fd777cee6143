// SPDX-License-Identifier: GPL-2.0
// Settings that user space changes while programs run: mapped by user space, shared by all programs
// of a session. Also the counters that each program keeps.
#pragma once

#include "bpf/glob.h"
#include "bpf/span.h"
#include "bpf/syscalls.h"

#define THREAD_THRESHOLDS 8

// Thresholds by the name of the thread: the first glob that matches counts, else the threshold for
// other threads. No program reads these while user space writes them, see kernel/thresholds.h.
struct thread_thresholds {
  u32 count;  // of globs; 0: names are not looked at
  u32 reserved;
  u64 threshold_ns[THREAD_THRESHOLDS];
  u64 others_ns[SPAN_KINDS_MAX];  // by enum span_kind; 0: others are never late
  struct glob_program globs[THREAD_THRESHOLDS];
};
WIRE_SIZE(struct thread_thresholds, 328 + THREAD_THRESHOLDS * 258 * 8);

struct session_control {
  u32 armed;  // 1: spans may begin. One store starts all probes together
  u32 epoch;  // parity names the half of every cell pool that is written; see cells.bpf.h
  u32 phase;  // 2: after the discovery phase of a two-phase run
  u32 moves;  // number of processes moved to another cgroup; user space looks at their threads
  // By enum span_kind: threshold for spans of the kind, unless one for the thread's name applies;
  // 0: off.
  u64 threshold_ns[SPAN_KINDS_MAX];
  // By enum span_kind: when the kind was turned on, or the session armed. A span with an earlier
  // begin may have lost its end, or meet the end of another: it is not matched. Written before
  // threshold_ns, and before the session is armed; that of waits once more before the program that
  // is the target starts.
  u64 since_ns[SPAN_KINDS_MAX];
  u64 wait_min_ns;     // shortest wait, of any thread, that is recorded; 0: none is
  u64 slice_ns;        // length over which the run times of a CPU's threads are added up; 0: off
  u64 resumed_ns;      // when the session was last armed again after a pause; 0: never
  u64 disarmed_ns;     // when `armed` was last set to 0; 0: never
  u64 quiet_ns;        // upper bound of the time since cpu_ledger.looked_ns; 0: unknown
  u64 quiet_from_ns;   // when the hooks that set looked_ns were attached
  u32 releases;        // members removed from the target; each invalidates all member keys
  u32 calls_stay;      // 1: open calls are being reported and do not move, see call.bpf.h
  u32 totals_epoch;    // as `epoch`, for the totals of threads: cells fill up more often
  u32 span_sums_used;  // entries of `span_sums` that user space has not taken out
  struct thread_thresholds by_name;
  // By number of the native call: its age from which on its waits are recorded, however long.
  u64 call_age_min_ns[SYSCALL_TABLE_SIZE];
};
WIRE_SIZE(struct session_control, 592 + sizeof(struct thread_thresholds) + 8 * SYSCALL_TABLE_SIZE);

// Per-CPU counters, kept by each BPF object. Reasons for loss come first; docs/loss.md explains
// each.
enum session_counter {
  COUNTER_RING_FULL,     // records for which the CPU's ring buffer had no room
  COUNTER_CELLS_FULL,    // aggregates for which there was no free cell
  COUNTER_TASK_STORAGE,  // threads that are not measured, for lack of task storage
  COUNTER_UNMATCHED,     // ends without a begin
  COUNTER_CUT,     // spans that began before the session, or lost their hook at a change of phases
  COUNTER_CPU_NS,  // CPU time of target threads that have ended, in ns
  COUNTER_DEPARTURES,     // context switches of target threads that have ended
  COUNTER_TEXT_UNREAD,    // calls with a string argument that could not be read
  COUNTER_BEYOND_SETS,    // calls left out, since sets (-e, --discover) have no bit for them
  COUNTER_SPANS_FULL,     // spans for which the table of open spans was full
  COUNTER_SPANS_UNREAD,   // events of a user span whose key or filter could not be read
  COUNTER_CALLERS_LOST,   // calls with an unknown caller: there was no room for the stack
  COUNTER_WORST_BUSY,     // wake-ups not tracked, since another CPU held the lock
  COUNTER_WORST_WINDOWS,  // windows worth keeping for which there was no room
  COUNTER_NESTED,   // runs that the kernel skipped, since the program was running on that CPU;
                    // counted by the kernel
  COUNTER_REFUSED,  // calls that seccomp or a tracer answered before they began
  COUNTER_SPANS,    // spans that ended, late or not, except system calls
  // All runs since the programs were loaded, read by user space from run_costs (run_cost.h):
  COUNTER_RUNS,
  COUNTER_RUN_NS,         // time of the runs
  COUNTER_RUN_TARGET_NS,  // time of the runs in threads of the target
  COUNTER_RUN_VARIANCE,   // variance of COUNTER_RUN_NS, in ns squared
  COUNTER_STATS_RUNS,     // runs that the kernel's statistics counted while enabled
  COUNTER_STATS_NS,
  COUNTER_COUNT,
};

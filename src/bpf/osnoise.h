// SPDX-License-Identifier: GPL-2.0
// Noise of workload threads, which read the clock in a loop: a noise is a long gap between two
// readings. Interferences are the interrupts and threads that ran on the CPU in the gap.
#pragma once

#include "bpf/noise.h"
#include "bpf/origin.h"

#define OSNOISE_NOISES_MAX 512  // interferences of one noise; a power of two

// Memory that a workload thread shares with the programs of its CPU; both map it. No locks are
// needed: the thread does not run while the programs do.
struct osnoise_cpu {
  u32 tid;  // of the thread while it measures; 0: nothing is logged
  u32 reserved[11];
  struct noise_marks marks;
  struct timerlat_noise noises[OSNOISE_NOISES_MAX];  // as struct noise_log
  struct noise_origin origins[OSNOISE_NOISES_MAX];   // of the thread of each noise, if wanted
};
WIRE_SIZE(struct osnoise_cpu, 128 + OSNOISE_NOISES_MAX * (40 + 72));

enum osnoise_flags {
  OSNOISE_STOPPED = 1,  // over a limit: the last record of the session
  OSNOISE_CUT = 2,      // more interferences than the record has room for
  OSNOISE_UNSEEN = 4,   // the thread was switched out, and no hook saw the switch
  OSNOISE_INNER = 8,    // between the two readings of a pair; else between pairs
};

// A noise: a gap of at least the threshold. header.time_ns is its end; the header's thread is the
// workload thread. Followed by `noises` interferences, oldest first; then by `origins` structs
// noise_origin, of the threads among the interferences, in the same order.
struct osnoise_gap {
  struct event_header header;
  u64 begin_ns;
  u64 noise_ns;       // duration of the noise
  u32 interferences;  // number of interferences seen; 0: caused by hardware or a hypervisor
  u32 noises;         // number of interferences in the record
  u32 flags;          // enum osnoise_flags
  u32 origins;        // number of origins in the record; 0 if they are not wanted
};
WIRE_SIZE(struct osnoise_gap, 80);

// One period. header.time_ns is the end of its measurement.
struct osnoise_sample {
  struct event_header header;
  u64 runtime_ns;  // time in which the thread measured
  u64 noise_ns;    // sum of the noises in runtime_ns
  u64 max_ns;      // longest noise
  u64 inner_ns;    // longest gap below the threshold without interference, within a pair
  u64 outer_ns;    // longest gap below the threshold without interference, between pairs
  u32 hw;          // noises without interference
  u32 nmi;         // NMIs in gaps of any length; likewise the next three
  u32 irq;
  u32 softirq;
  u32 thread;
  u32 flags;  // enum osnoise_flags
};
WIRE_SIZE(struct osnoise_sample, 112);

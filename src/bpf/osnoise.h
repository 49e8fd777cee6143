// SPDX-License-Identifier: GPL-2.0
// Pauses of busy threads, which read the clock again and again, and what had their CPUs meanwhile.
#pragma once

#include "bpf/noise.h"

#define OSNOISE_NOISES_MAX 512  // of one pause; a power of two

// What a thread and the programs of its CPU share, mapped by both. The thread is in nobody's way
// there: it does not run while they do.
struct osnoise_cpu {
  u32 tid;  // of the thread, while it looks; 0: nothing is written down
  u32 reserved[11];
  struct noise_marks marks;
  struct timerlat_noise noises[OSNOISE_NOISES_MAX];  // as struct noise_log
};
WIRE_SIZE(struct osnoise_cpu, 128 + OSNOISE_NOISES_MAX * 40);

enum osnoise_flags {
  OSNOISE_STOPPED = 1,  // it was over a limit: the last one
  OSNOISE_CUT = 2,      // there was more noise than is told of
  OSNOISE_UNSEEN = 4,   // the thread was switched away from, and no program was told to whom
  OSNOISE_INNER = 8,    // between the two looks of a pair, else between pairs
};

// A pause of at least the threshold. header.time_ns is its end; the header's thread is the busy
// one. Behind it: `noises` of what had the CPU meanwhile, oldest first.
struct osnoise_gap {
  struct event_header header;
  u64 begin_ns;
  u64 noise_ns;       // from its begin to its end
  u32 interferences;  // that were seen; 0 where hardware or a hypervisor is to blame
  u32 noises;
  u32 flags;  // enum osnoise_flags
  u32 reserved;
};
WIRE_SIZE(struct osnoise_gap, 80);

// All of one period. header.time_ns is when the thread stopped looking.
struct osnoise_sample {
  struct event_header header;
  u64 runtime_ns;  // that it looked
  u64 noise_ns;    // of it, pauses
  u64 max_ns;      // the longest
  u64 inner_ns;    // the longest below the threshold that nothing interfered with, within pairs
  u64 outer_ns;    // and between pairs
  u32 hw;          // pauses nothing interfered with
  u32 nmi;         // how often each had the CPU, in pauses of any length
  u32 irq;
  u32 softirq;
  u32 thread;
  u32 flags;  // enum osnoise_flags
};
WIRE_SIZE(struct osnoise_sample, 112);

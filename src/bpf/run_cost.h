// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

#define PROGRAMS_MAX 32  // counted programs of a BPF object

// The runs of one program on one CPU, and the times of the timed runs. A timed run represents
// itself and the runs since the previous timed run; its weight is their number. Values only grow.
struct run_cost {
  u64 runs;
  u64 next;       // number of the run to be timed next
  u64 begin_ns;   // begin of the run being timed; 0: none
  u64 priced;     // number of runs up to the last timed one
  u64 ns;         // sum of time * weight of the timed runs
  u64 target_ns;  // the same sum, over runs in threads of the target
  u64 squares;    // sum of time² * weight
  u64 weights;    // sum of weight²
};
WIRE_SIZE(struct run_cost, 64);

struct run_costs {
  struct run_cost of[PROGRAMS_MAX];
};
WIRE_SIZE(struct run_costs, PROGRAMS_MAX * 64);

// SPDX-License-Identifier: GPL-2.0
#pragma once

#include "bpf/wire.h"

#define PROGRAMS_MAX 32  // of a BPF object, that are counted

// The runs of one program on one CPU, and what those took that were timed. Words only grow.
struct run_cost {
  u64 runs;
  u64 next;       // the run to be timed next
  u64 begin_ns;   // of the run that is being timed; 0: none is
  u64 priced;     // runs up to the last timed one: each of those stands for itself and the ones
                  // between the one before it and it
  u64 ns;         // of them: the time of each timed run by the number that it stands for
  u64 target_ns;  // of that, in threads of the target
  u64 squares;    // the square of each time, by that number
  u64 weights;    // the square of each number
};
WIRE_SIZE(struct run_cost, 64);

struct run_costs {
  struct run_cost of[PROGRAMS_MAX];
};
WIRE_SIZE(struct run_costs, PROGRAMS_MAX * 64);

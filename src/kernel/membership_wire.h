// SPDX-License-Identifier: GPL-2.0
// Shared by membership.bpf.c and membership.cc.
#pragma once

#include "bpf/wire.h"

#define TARGET_GLOBS 8

// A thread-name glob as a state machine: bit i of the state means "the first i elements have
// matched". An element is a character, a set or `?`; a `*` is a state that stays. User space
// compiles it (kernel/glob.h), so the kernel needs two array reads a character and no backtracking,
// whatever the syntax.
struct glob_program {
  u64 matches[256];  // by character: bit i: element i matches it
  u64 stays;         // bit i: a star stands before element i (or at the end)
  u64 accepts;       // the state's bit that means "all matched"
};
WIRE_SIZE(struct glob_program, 258 * 8);
#define TARGET_CGROUPS 16
#define TARGET_IDS_MAX 4096

enum target_id_kind {
  TARGET_PROCESS = 1,
  TARGET_THREAD = 2,
  TARGET_GATED =
      4,  // a program of ours still behind the spawn gate: what ends next is the gate's read
};

// A thread of the target that has not been freed.
struct member {
  u64 cpu_ns;  // used since it was adopted, and not counted in COUNTER_CPU_NS
  u32 tid;
  u32 reserved;
};
WIRE_SIZE(struct member, 16);

// SPDX-License-Identifier: GPL-2.0
// Shared by membership.bpf.c and membership.cc.
#pragma once

#include "bpf/glob.h"

#define TARGET_GLOBS 8
#define TARGET_CGROUPS 16
#define TARGET_IDS_MAX 4096

enum target_id_kind {
  TARGET_PROCESS = 1,
  TARGET_THREAD = 2,
  TARGET_GATED =
      4,  // our own child, blocked behind the spawn gate: its next call exit is the gate's read
};

// A thread of the target that has not been freed.
struct member {
  u64 cpu_ns;      // CPU time since its adoption that is not in COUNTER_CPU_NS
  u64 departures;  // context switches, likewise
  u32 tid;
  u32 reserved;
};
WIRE_SIZE(struct member, 24);

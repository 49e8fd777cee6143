// SPDX-License-Identifier: GPL-2.0
// A glob for the names of threads, in the form that BPF programs evaluate.
#pragma once

#include "bpf/wire.h"

// A state machine: bit i of the state means "the first i elements have matched". An element is a
// character, a set or `?`; a `*` is a state that stays. User space compiles the glob
// (kernel/glob.h), so a BPF program needs two array reads per character and no backtracking,
// whatever the syntax.
struct glob_program {
  u64 matches[256];  // by character: bit i: element i matches the character
  u64 stays;         // bit i: a star stands before element i (or at the end)
  u64 accepts;       // the state's bit that means "all matched"
};
WIRE_SIZE(struct glob_program, 258 * 8);

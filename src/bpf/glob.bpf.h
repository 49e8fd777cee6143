/* SPDX-License-Identifier: GPL-2.0 */
/* Whether a thread's name matches a glob that user space has compiled. */
#pragma once

#include "bpf/glob.h"
#include "bpf/kernel.h"

struct thread_name {
  char text[COMM_SIZE];
};

static __always_inline bool name_matches_glob(const volatile struct glob_program* glob,
                                              const struct thread_name* name) {
  u64 state = 1;
  for (u32 at = 0; at < COMM_SIZE; at++) {
    u8 character = name->text[at];
    if (!character) break;
    state = (state & glob->matches[character]) << 1 | (state & glob->stays);
  }
  return state & glob->accepts;
}

/* SPDX-License-Identifier: GPL-2.0 */
/* The state of seccomp for a thread. */
#pragma once

#include "bpf/compat.bpf.h"

#define SECCOMP_KILLED 3 /* kernel/seccomp.c: SECCOMP_MODE_DEAD, since 5.17 */

static __always_inline int seccomp_mode(const struct task_struct* task) {
  return bpf_core_field_exists(task->seccomp.mode) ? task->seccomp.mode : 0;
}

/* Whether seccomp kills `task` for its last call. */
static __always_inline bool was_killed(const struct task_struct* task) {
  return seccomp_mode(task) == SECCOMP_KILLED;
}

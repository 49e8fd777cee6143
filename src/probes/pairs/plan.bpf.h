/* SPDX-License-Identifier: GPL-2.0 */
/* Runs a plan. Its steps are constants when the program loads. The verifier knows each step, so it
 * sees one straight path through the loop, and code that no step needs is dead. */
#pragma once

#include "bpf/kernel.h"

#include "probes/pairs/plan.h"

const volatile struct plan plan;

static __always_inline u64 plan_read(const PLAN_STEP* step, u64 address, u64* value) {
  u64 raw = 0;
  u64 size = step->size;
  long error;
  if (size > sizeof(raw)) return 1;
  if (step->memory == PLAN_USER)
    error = bpf_probe_read_user(&raw, size, (const void*)address);
  else
    error = bpf_probe_read_kernel(&raw, size, (const void*)address);
  *value = raw;
  return plan_is_not_0(error);
}

static __always_inline u64 plan_builtin_value(u64 which) {
  switch (which) {
    case PLAN_PID:
      return bpf_get_current_pid_tgid() >> 32;
    case PLAN_TID:
      return (u32)bpf_get_current_pid_tgid();
    case PLAN_CPU:
      return bpf_get_smp_processor_id();
    case PLAN_TASK:
      return bpf_get_current_task();
    case PLAN_USER_REGISTERS:
      return (u64)bpf_task_pt_regs(bpf_get_current_task_btf());
    default:
      return 0;
  }
}

#include "probes/pairs/plan_run.h"

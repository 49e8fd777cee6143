/* SPDX-License-Identifier: GPL-2.0 */
/* A thread by its tid in the initial namespace: since Linux 6.2. */
#pragma once

#include "bpf/kernel.h"

/* Null if there is no such thread. The caller releases the result. */
extern struct task_struct* bpf_task_from_pid(s32 pid) OPTIONAL_FUNCTION;
extern void bpf_task_release(struct task_struct* task) OPTIONAL_FUNCTION;

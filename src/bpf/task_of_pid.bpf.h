/* SPDX-License-Identifier: GPL-2.0 */
/* A thread by its number, as the initial namespace counts: since Linux 6.2. */
#pragma once

#include "bpf/kernel.h"

/* Null where there is none. What it returns has to be released. */
extern struct task_struct* bpf_task_from_pid(s32 pid) OPTIONAL_FUNCTION;
extern void bpf_task_release(struct task_struct* task) OPTIONAL_FUNCTION;

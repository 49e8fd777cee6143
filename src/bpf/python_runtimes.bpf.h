/* SPDX-License-Identifier: GPL-2.0 */
/* The interpreters of programs, which user space has found. Shared by the objects of a session. */
#pragma once

#include "bpf/kernel.h"
#include "bpf/python.h"

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, PYTHON_RUNTIMES);
  __type(key, struct python_program);
  __type(value, struct python_runtime);
} python_runtimes SEC(".maps");

/* SPDX-License-Identifier: GPL-2.0 */
#pragma once

#include "bpf/wire.h"

#define SYSCALLS_MAX 1024 /* numbers to read; kernels have about 470 */
#define SYMBOL_SIZE 64

struct syscall_symbol {
  char name[SYMBOL_SIZE]; /* NUL-terminated kernel symbol; empty past the end of the table */
};
WIRE_SIZE(struct syscall_symbol, 64);

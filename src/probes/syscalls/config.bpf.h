/* SPDX-License-Identifier: GPL-2.0 */
/* What user space wants from the system-call probe, and the calls seen so far. */
#pragma once

#include "bpf/syscalls.h"
#include "bpf/target.bpf.h"

const volatile u8 want_cells;      /* aggregate in the kernel */
const volatile u8 cells_by_thread; /* a cell belongs to one thread, else to one CPU */
const volatile u8 want_calls;      /* a record for every call */
const volatile u8 two_phase;
const volatile u8 discover_only; /* note numbers, measure nothing */
const volatile u8 want_callers;  /* also each call's library function; with want_cells */
const volatile u8 filtered;      /* -e: only numbers in `wanted` */
/* By call; bit i: argument i is a string to copy. */
const volatile u8 text_arguments[ABI_SLOTS * SYSCALL_TABLE_SIZE];
const volatile u32 cells_per_half;

u64 wanted[SYSCALL_SET_WORDS];     /* with `filtered`; user space may change it at any time */
u64 discovered[SYSCALL_SET_WORDS]; /* in the first phase */
/* The second phase: late calls seen so far, and those of them whose exit already has a hook. */
u64 late_seen[SYSCALL_SET_WORDS];
u64 late_timed[SYSCALL_SET_WORDS];

static __always_inline bool has_bit(u32 abi, u32 nr) {
  return abi < ABI_COUNT && nr < SYSCALL_TABLE_SIZE;
}

/* A call without a bit in the sets is neither chosen nor discovered, but it is counted. */
static __always_inline void count_if_beyond_sets(u32 nr, u16 abi) {
  if (!has_bit(abi, nr)) count(COUNTER_BEYOND_SETS, 1);
}

/* The index of a call's word in a set. The barrier keeps clang from dropping a mask that clang
 * knows to be needless and the verifier does not. */
static __always_inline u32 word_of(u32 abi, u32 nr) {
  u32 word = abi * (SYSCALL_TABLE_SIZE / 64) + nr / 64;
  barrier_var(word);
  return word & (SYSCALL_SET_WORDS - 1);
}

static __always_inline bool contains(const u64* set, u32 abi, u32 nr) {
  return has_bit(abi, nr) && set[word_of(abi, nr)] >> (nr & 63) & 1;
}

static __always_inline bool is_wanted(u32 abi, u32 nr) {
  return contains(wanted, abi, nr);
}

static __always_inline bool in_second_phase(void) {
  return two_phase && control.phase == 2;
}

/* Whether a call was first seen in the second phase; not known for numbers beyond the sets. */
static __always_inline bool is_late(u32 abi, u32 nr) {
  return in_second_phase() && has_bit(abi, nr) && !contains(discovered, abi, nr);
}

static __always_inline void insert(u64* set, u32 abi, u32 nr) {
  if (!has_bit(abi, nr)) return;
  u64* word = &set[word_of(abi, nr)];
  u64 bit = 1ull << (nr & 63);
  if (!(*word & bit))
    __sync_fetch_and_or(word, bit); /* written once per number: no shared line in the hot path */
}

/* Which arguments of a call are strings to copy. */
static __always_inline u8 string_arguments(u32 abi, u32 nr) {
  if (!has_bit(abi, nr)) return 0;
  u32 index = abi * SYSCALL_TABLE_SIZE + nr;
  barrier_var(index);
  return text_arguments[index & (ABI_SLOTS * SYSCALL_TABLE_SIZE - 1)];
}

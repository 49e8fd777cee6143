/* SPDX-License-Identifier: GPL-2.0 */
/* The short waits of a late call, too many to be recorded: added up by the place where the thread
 * waited. probes/sched adds them; the end of the call reads them. The first wait in each place is
 * recorded, with its stack. */
#pragma once

#include "bpf/sched.h"
#include "bpf/session.bpf.h"

#define PLACE_TABLES_LOG2 8

struct place_table {
  u64 owner;   /* struct task_struct*; 0: free */
  u64 call_ns; /* begin of the call */
  u64 used_ns; /* when a wait of the call was last added */
  u64 others_ns;
  struct wait_place places[PLACES_NAMED];
};

/* The tid selects the table. Few threads are in late calls at a time. On a collision, the short
 * waits of the second thread are not added up. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1 << PLACE_TABLES_LOG2);
  __type(key, u32);
  __type(value, struct place_table);
} place_tables SEC(".maps");

static __always_inline struct place_table* place_table_of(u32 tid) {
  u32 index = tid * 0x9e3779b9u >> (32 - PLACE_TABLES_LOG2); /* see slot_of() */
  return bpf_map_lookup_elem(&place_tables, &index);
}

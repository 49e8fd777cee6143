/* SPDX-License-Identifier: GPL-2.0 */
/* Aggregates: cells, the pool they come from, and the owner of each cell. */
#pragma once

#include "probes/syscalls/config.bpf.h"

/* The pool has two halves. The parity of control.epoch names the half in use. User space advances
 * the epoch, waits until no program can still write to the previous half, adds that half to its
 * totals and zeroes it. So no cell is read while it is written, or cleared under a writer. */
struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 2);
  __type(key, u32);
  __type(value, struct syscall_cell);
} cells SEC(".maps");

/* Cells taken from each half. User space resets the count of a half that it has drained. */
u32 cells_used[2];

/* The cells of one owner (a CPU or a thread) in one epoch, as indexes plus 1, by number; 0: none
 * yet. */
struct cell_table {
  u32 epoch;
  u32 label_generation;
  u32 cell[SYSCALL_TABLE_SIZE]; /* by native number */
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct cell_table);
} cpu_cells SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_TASK_STORAGE);
  __uint(map_flags, BPF_F_NO_PREALLOC);
  __type(key, int);
  __type(value, struct cell_table);
} thread_cells SEC(".maps");

/* For other ABIs and for numbers beyond the table (syscall(9999)), which are rare enough for a
 * hash; and for all calls, if they are counted by caller, or by thread with PREEMPT_RT. A dropped
 * entry costs a second cell for the same key; user space adds the two up. */
struct odd_key {
  u64 thread_started; /* a thread id alone may be reused */
  u32 owner;          /* tid or CPU */
  u32 epoch;
  u32 nr;
  u32 abi;
  u32 label_generation;
  u32 caller;
};
struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 4096);
  __type(key, struct odd_key);
  __type(value, u32);
} odd_cells SEC(".maps");

static __always_inline struct syscall_cell* cell_at(u32 index) {
  return bpf_map_lookup_elem(&cells, &index);
}

/* Takes a free cell of the epoch's half and labels it. Returns its index plus 1, or 0 if the half
 * is full. */
static __noinline u32 take_cell(struct task_struct* task, struct thread_state* state, u32 epoch) {
  u32 half = epoch & 1;
  if (cells_used[half] >= cells_per_half) return 0;
  u32 slot = __sync_fetch_and_add(&cells_used[half], 1);
  if (slot >= cells_per_half) return 0;
  u32 index = half * cells_per_half + slot;
  struct syscall_cell* cell = cell_at(index);
  if (!cell) return 0;
  cell->header.kind = RECORD_SYSCALL_CELL;
  cell->header.size = sizeof(*cell);
  cell->header.cpu = bpf_get_smp_processor_id();
  if (cells_by_thread) {
    cell->header.cgroup_id = state->cgroup_id;
    cell->header.pid = task->tgid;
    cell->header.tid = task->pid;
    BPF_CORE_READ_STR_INTO(&cell->header.comm, task, comm);
    fill_origin(&cell->origin, task, state);
  }
  cell->nr = state->nr;
  cell->abi = state->abi;
  cell->late = is_late(state->abi, state->nr);
  if (want_callers) cell->caller = state->caller;
  cell->latency.min_ns = ~0ull;
  return index + 1;
}

static const u32 no_cells[SYSCALL_TABLE_SIZE]; /* BPF lacks memset */

static __always_inline struct cell_table* owner_table(struct task_struct* task,
                                                      struct thread_state* state) {
  if (cells_by_thread)
    return bpf_task_storage_get(&thread_cells, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
  u32 zero = 0;
  return bpf_map_lookup_elem(&cpu_cells, &zero);
}

static __noinline u32 odd_cell(struct task_struct* task, struct thread_state* state, u32 epoch) {
  struct odd_key key = {.epoch = epoch, .nr = state->nr, .abi = state->abi};
  if (cells_by_thread) key.label_generation = state->label_generation;
  if (cells_by_thread) key.thread_started = task->start_time;
  if (want_callers) key.caller = state->caller;
  key.owner = cells_by_thread ? (u32)task->pid : bpf_get_smp_processor_id();
  u32* found = bpf_map_lookup_elem(&odd_cells, &key);
  if (found) return *found;
  u32 index = take_cell(task, state, epoch);
  if (index) bpf_map_update_elem(&odd_cells, &key, &index, BPF_ANY);
  return index;
}

/* The cell for the open call, or null (counted). */
static __always_inline struct syscall_cell* find_cell(struct task_struct* task,
                                                      struct thread_state* state) {
  u32 epoch = control.epoch;
  u32 index;
  bool has_table = !want_callers && !(cells_by_thread && threads_are_hashed());
  if (has_table && state->abi == ABI_NATIVE && state->nr < SYSCALL_TABLE_SIZE) {
    struct cell_table* table = owner_table(task, state);
    if (!table) {
      count(COUNTER_TASK_STORAGE, 1);
      return 0;
    }
    if (table->epoch != epoch ||
        (cells_by_thread && table->label_generation != state->label_generation)) {
      bpf_probe_read_kernel(table->cell, sizeof(table->cell), no_cells);
      table->epoch = epoch;
      table->label_generation = state->label_generation;
    }
    u32 entry = state->nr & (SYSCALL_TABLE_SIZE - 1);
    index = table->cell[entry];
    if (!index) {
      index = take_cell(task, state, epoch);
      table->cell[entry] = index;
    }
  } else {
    index = odd_cell(task, state, epoch);
  }
  if (!index) {
    count(COUNTER_CELLS_FULL, 1);
    return 0;
  }
  return cell_at(index - 1);
}

static __always_inline void count_error(struct syscall_cell* cell, u32 code) {
  cell->errors++;
  for (u32 i = 0; i < SYSCALL_ERRNOS; i++) {
    struct errno_count* slot = &cell->errnos[i];
    if (slot->code == code || !slot->code) {
      slot->code = code;
      slot->count++;
      return;
    }
  }
}

static __always_inline void count_result(struct syscall_cell* cell, s64 ret) {
  if (ret < 0 && ret >= -4095) count_error(cell, (u32)-ret);
}

static __always_inline void add_to_cell(struct syscall_cell* cell, u64 latency_ns, s64 ret) {
  struct latency_histogram* latency = &cell->latency;
  latency->count++;
  latency->total_ns += latency_ns;
  if (latency_ns < latency->min_ns) latency->min_ns = latency_ns;
  if (latency_ns > latency->max_ns) latency->max_ns = latency_ns;
  u32 bucket = histogram_bucket(latency_ns);
  if (bucket < HISTOGRAM_BUCKETS) latency->buckets[bucket]++;
  count_result(cell, ret);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* Where a thread waits in a late call, and the sums of its short waits there. */
#pragma once

#include "bpf/places.bpf.h"
#include "bpf/thread_thresholds.bpf.h"
#include "bpf/wait.bpf.h"

/* A call is old once it has taken 1/OLD_SHARE of its threshold. Only the waits of old calls are
 * added up, so the far more numerous younger calls cost nothing. */
#define OLD_SHARE 16

struct kernel_frames {
  u64 at[KERNEL_FRAMES_MAX];
};

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct kernel_frames);
} frames_scratch SEC(".maps");

/* Equal for equal states and frames: FNV-1a (Fowler, Noll, Vo), by words. */
__noinline u64 place_of(const struct kernel_frames* frames, u32 count, u32 state) {
  if (!frames) return 0;
  u64 place = 0xcbf29ce484222325 ^ state;
  for (u32 i = 0; i < KERNEL_FRAMES_MAX && i < count; i++)
    place = (place ^ frames->at[i]) * 0x100000001b3;
  return place ? place : 1;
}

/* Makes `table` belong to the open call of `task`. False while another thread uses the table. */
static __always_inline bool claim_place_table(struct place_table* table, u64 task, u64 call_ns,
                                              u64 now_ns) {
  u64 owner = table->owner;
  if (owner == task && table->call_ns == call_ns) return true;
  if (owner && owner != task &&
      ns_between(table->used_ns, now_ns) < control.threshold_ns[SPAN_SYSCALL])
    return false;
  if (__sync_val_compare_and_swap(&table->owner, owner, task) != owner) return false;
  table->call_ns = call_ns;
  table->others_ns = 0;
  __builtin_memset(table->places, 0, sizeof(table->places));
  return true;
}

/* Adds the ending wait of the thread whose struct task_struct is at `*address`. Returns 1 for the
 * first wait in its place, which has a record of its own. Not static: see is_late_by_glob(). */
__noinline int add_to_place(const u64* address, const struct thread_ledger* ledger, u64 place,
                            u64 now_ns) {
  if (!address || !ledger) return 0;
  u64 task = *address;
  struct place_table* table = place_table_of(BPF_CORE_READ((struct task_struct*)task, pid));
  if (!table || !claim_place_table(table, task, ledger->call.begin_ns, now_ns)) return 0;
  u64 ns = ns_between(ledger->since_ns, now_ns);
  table->used_ns = now_ns;
  for (int i = 0; i < PLACES_NAMED; i++) {
    struct wait_place* one = &table->places[i];
    if (!one->place) {
      one->place = place;
      one->state = wait_state_of(ledger);
      return 1;
    }
    if (one->place != place) continue;
    one->count++;
    one->ns += ns;
    one->ready_ns += ns_between(runnable_since(ledger, now_ns), now_ns);
    if (ns > one->longest_ns) one->longest_ns = ns;
    return 0;
  }
  table->others_ns += ns;
  return 0;
}

static __always_inline bool in_old_call(struct task_struct* task,
                                        const struct thread_ledger* ledger, u64 now_ns) {
  u64 threshold_ns = control.threshold_ns[SPAN_SYSCALL];
  if (!threshold_ns || !ledger->call.who) return false;
  u64 age_ns = ns_between(ledger->call.begin_ns, now_ns);
  return age_ns >= threshold_ns / OLD_SHARE &&
         is_late_by_name(task, SPAN_SYSCALL, OLD_SHARE * age_ns);
}

/* Adds a wait of an old call that is too short for a record of its own. True for the first wait in
 * its place, which gets a record nevertheless. */
static __noinline bool add_short_wait(struct task_struct* task, const struct thread_ledger* ledger,
                                      u64 now_ns) {
  u32 zero = 0;
  struct kernel_frames* frames = bpf_map_lookup_elem(&frames_scratch, &zero);
  if (!task || !ledger || !frames) return false;
  long bytes = bpf_get_task_stack(task, frames->at, sizeof(frames->at), 0);
  u64 address = (u64)task;
  u64 place = place_of(frames, bytes > 0 ? bytes / 8 : 0, wait_state_of(ledger));
  return add_to_place(&address, ledger, place, now_ns);
}

/* SPDX-License-Identifier: GPL-2.0 */
/* The events within the open window. Each is written on the CPU where it happens, into the set of
 * buffers that is being written. */
#pragma once

#include "bpf/per_cpu.bpf.h"
#include "probes/worst/worst.h"

const volatile u32 cpu_count = 1;
const volatile u32 events_per_cpu = 1; /* per set and CPU; a power of two */

struct worst_tracked tracked = {.prio = WORST_PRIO_NONE};

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct worst_event);
} events SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(max_entries, 1);
  __type(key, u32);
  __type(value, struct worst_head);
} heads SEC(".maps");

/* Whether events are recorded: only while a wake-up is tracked. */
static __always_inline bool is_recording(void) {
  return tracked.task || tracked.pending;
}

static __always_inline u16 prio_word(s32 prio) {
  return prio < 0 ? WORST_PRIO_DEADLINE : prio;
}

/* Returns the slot of a new event of the open window, with the running thread filled in. A program
 * that interrupts this one takes the next slot. */
static __always_inline struct worst_event* new_event(u16 kind, u64 now_ns) {
  u32 cpu = bpf_get_smp_processor_id();
  /* The order matters. With a hypervisor's pause between the two reads, the number of a later
   * window and the set before it would make the events of a kept window look like another
   * window's. */
  u64 serial = *(volatile u64*)&tracked.serial;
  u32 at = *(volatile u32*)&tracked.set * cpu_count + cpu;
  struct worst_head* head = bpf_map_lookup_elem(&heads, &at);
  if (!head) return 0;
  u64 written = head->written;
  if (head->serial != serial) {
    head->first = written;
    head->serial = serial;
  }
  u64 index = __sync_fetch_and_add(&head->written, 1);
  u32 slot = at * events_per_cpu + ((u32)index & (events_per_cpu - 1));
  struct worst_event* event = bpf_map_lookup_elem(&events, &slot);
  if (!event) return 0;
  struct task_struct* current = bpf_get_current_task_btf();
  event->header.time_ns = now_ns;
  event->header.cgroup_id = 0;
  event->header.pid = current->tgid;
  event->header.tid = current->pid;
  event->header.kind = RECORD_WORST_EVENT;
  event->header.size = sizeof(*event);
  event->header.cpu = cpu;
  __builtin_memcpy(event->header.comm, current->comm, COMM_SIZE);
  u64 base = find_per_cpu_base(current);
  event->flags = read_preempt_count(base, &event->preempt_count) ? WORST_EVENT_HAS_COUNT : 0;
  event->thread_flags = current->thread_info.flags;
  event->event = kind;
  event->prio = prio_word(current->prio);
  event->number = event->other_tid = 0;
  event->other_prio = event->state = 0;
  return event;
}

static __always_inline void set_other(struct worst_event* event, struct task_struct* other) {
  event->other_tid = other->pid;
  event->other_prio = prio_word(other->prio);
  __builtin_memcpy(event->other_comm, other->comm, COMM_SIZE);
}

/* Records an event about a thread. */
static __noinline int note(u16 kind, struct task_struct* other, u32 number, u64 now_ns) {
  struct worst_event* event = other ? new_event(kind, now_ns) : 0;
  if (!event) return 0;
  set_other(event, other);
  event->number = number;
  return 0;
}

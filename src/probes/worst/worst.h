// SPDX-License-Identifier: GPL-2.0
// Shared by the programs of probes/worst and their reader, besides records: the sets of buffers in
// which windows are gathered. One set is written. When a window is worth keeping, its set is left
// to the reader unchanged, and another set is written from then on.
#pragma once

#include "bpf/worst.h"

#define WORST_SETS 8
#define WORST_FRAMES 32

enum worst_set_state {
  WORST_SET_FREE = 0,
  WORST_SET_WRITTEN = 1,  // written by programs: one set at a time
  WORST_SET_FILLED = 2,   // holds a window that has not been read
  WORST_SET_READ = 3,     // being read; the reader frees the set afterwards
  WORST_SET_CLOSING = 4,  // between WRITTEN and FILLED
};

// One per set and CPU. Written on that CPU only.
struct worst_head {
  u64 written;  // number of events so far; slots are reused from the first on
  u64 serial;   // window of the last event
  u64 first;    // `written` at the first event of that window
  u32 waker_pid;
  u32 waker_tid;  // waker of the last tracked wake-up made on this CPU
  char waker_comm[COMM_SIZE];
  u32 frames;
  u32 reserved;
  u64 stack[WORST_FRAMES];  // kernel stack of that waking
};
WIRE_SIZE(struct worst_head, 56 + WORST_FRAMES * 8);

// A wake-up of a member, if every one is tracked: from its waking until its thread runs.
struct worst_wake {
  u64 begin_ns;
  u64 queued_ns;
  u32 waker_cpu;
  u32 queued_cpu;
  u32 waker_pid;
  u32 waker_tid;
  char waker_comm[COMM_SIZE];
  u32 frames;
  u32 reserved;
  u64 stack[WORST_FRAMES];  // kernel stack of the waking
};
WIRE_SIZE(struct worst_wake, 56 + WORST_FRAMES * 8);

// One per set.
struct worst_slot {
  struct worst_window window;
  u64 stack[WORST_FRAMES];  // kernel stack of the end
  struct worst_wake wake;   // if every wake-up is tracked
};
WIRE_SIZE(struct worst_slot, 208 + 2 * WORST_FRAMES * 8);

// One per set: since when it is written, or was until its window was kept; and the set before it.
struct worst_turn {
  u64 since_ns;
  u32 before;
  u32 reserved;
};

// The tracked wake-up, if only one is tracked at a time; and, in any case, the set that is written,
// the bar and the counts. Changed only under `lock`, which a program holds for no more than a few
// dozen instructions. Read without the lock.
struct worst_tracked {
  u32 lock;
  u32 set;   // the set that is written
  u64 task;  // struct task_struct* of the tracked thread; 0: none
  s32 prio;  // priority of that thread; WORST_PRIO_NONE: no thread
  u32 waker_cpu;
  u32 queued_cpu;
  u32 reserved;
  u64 begin_ns;
  u64 queued_ns;
  u64 serial;     // number of this window: every tracked wake-up has one
  u64 bar_ns;     // windows up to this length are not worth keeping
  u64 ended;      // wake-ups tracked to their end
  u64 displaced;  // wake-ups abandoned for a higher-priority one
  u64 longest_ns;
  u32 pending;  // open wake-ups, if every one is tracked
  u32 reserved2;
};

#define WORST_PRIO_NONE 140  // MAX_PRIO: lower than any thread's priority

enum worst_loss {
  WORST_LOST_BUSY,     // wake-ups or ends that found the lock held throughout
  WORST_LOST_WINDOWS,  // windows worth keeping for which no set was free
  WORST_LOST_UNSEEN,   // tracked threads that ran unreported
  WORST_LOSSES,
};

// State of a CPU for sections.bpf.c. Written on that CPU, but another CPU may ask it to switch.
#define WORST_SECTIONS_KEPT \
  16 /* per CPU; if more are wanted, all sections above the bar are reported */

struct worst_section {
  u64 seen;  // number of sections that ended
  u64 longest_ns;
  u64 due_ns;       // since when the CPU is known to be unable to switch; 0: it is not
  u64 late_ns;      // when the first late timer of the present interrupt was due; 0: none
  u64 late_end_ns;  // when the last late timer expired
  u32 is_due;       // 1: the CPU was asked to switch
  u32 is_joined;    // 1: due_ns is when a late timer was due whose interrupt asked to switch
  u32 frames;       // frames of the stack at due_ns, or in that interrupt
  u32 reserved;
  u64 reported_until_ns;  // end of the last reported section
  u64 stack[WORST_FRAMES];
  u64 reported_ns[WORST_SECTIONS_KEPT];  // the longest reported sections, if so few are wanted
};
WIRE_SIZE(struct worst_section, 64 + WORST_FRAMES * 8 + WORST_SECTIONS_KEPT * 8);

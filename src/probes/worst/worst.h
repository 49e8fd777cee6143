// SPDX-License-Identifier: GPL-2.0
// What the programs of probes/worst and their reader share besides records: the sets of buffers in
// which windows are gathered. One set is written; when a window is worth keeping, its set is left
// to the reader as it is and another one is written from then on.
#pragma once

#include "bpf/worst.h"

#define WORST_SETS 8
#define WORST_FRAMES 32

enum worst_set_state {
  WORST_SET_FREE = 0,
  WORST_SET_WRITTEN = 1,  // by programs: one set at a time
  WORST_SET_FILLED = 2,   // holds a window that nobody has read
  WORST_SET_READ = 3,     // by the reader, who frees it then
  WORST_SET_CLOSING = 4,  // between WRITTEN and FILLED
};

// Of a set and a CPU. Written on that CPU only.
struct worst_head {
  u64 written;  // events so far; their slots are reused from the first on
  u64 serial;   // the window that the last one belongs to
  u64 first;    // `written` when that window's first event came
  u32 waker_pid;
  u32 waker_tid;  // of the last wake-up followed that was made here
  char waker_comm[COMM_SIZE];
  u32 frames;
  u32 reserved;
  u64 stack[WORST_FRAMES];  // of that waking
};
WIRE_SIZE(struct worst_head, 56 + WORST_FRAMES * 8);

// A wake-up of the target's, where each of those is followed: from its waking to its thread's run.
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
  u64 stack[WORST_FRAMES];  // of the waking
};
WIRE_SIZE(struct worst_wake, 56 + WORST_FRAMES * 8);

// Of a set.
struct worst_slot {
  struct worst_window window;
  u64 stack[WORST_FRAMES];  // of the end
  struct worst_wake wake;   // where each wake-up is followed
};
WIRE_SIZE(struct worst_slot, 208 + 2 * WORST_FRAMES * 8);

// Of a set: since when it is written, or was until its window was kept; and the one before it.
struct worst_turn {
  u64 since_ns;
  u32 before;
  u32 reserved;
};

// The wake-up that is followed, where that is one at a time. Changed under its lock only, which no
// program holds for longer than a few dozen instructions; looked at without.
struct worst_follow {
  u32 lock;
  u32 set;   // that is written
  u64 task;  // struct task_struct*; 0: nobody is followed
  s32 prio;  // of that thread; WORST_PRIO_NONE where there is none
  u32 waker_cpu;
  u32 queued_cpu;
  u32 reserved;
  u64 begin_ns;
  u64 queued_ns;
  u64 serial;     // of this window: every wake-up that is followed has one
  u64 bar_ns;     // windows up to this are not worth keeping
  u64 ended;      // wake-ups that were followed to their end
  u64 displaced;  // … or given up for a more important one
  u64 longest_ns;
  u32 pending;  // wake-ups that are followed, where each is
  u32 reserved2;
};

#define WORST_PRIO_NONE 140  // MAX_PRIO: less important than any

enum worst_loss {
  WORST_LOST_BUSY,     // a wake-up or an end that found the lock held all the while
  WORST_LOST_WINDOWS,  // windows worth keeping for which no set was free
  WORST_LOST_UNSEEN,   // followed threads that ran without our being told
  WORST_LOSSES,
};

// Of a CPU, of sections.bpf.c. Written there, but for a CPU being told by another to switch.
#define WORST_SECTIONS_KEPT \
  16 /* of each CPU: where more are wanted, all above the bar are told of */

struct worst_section {
  u64 seen;  // ends of sections
  u64 longest_ns;
  u64 due_ns;       // since when it is known that the CPU cannot switch; 0: it is not
  u64 late_ns;      // when the first late timer of the interrupt that runs here was due; 0: none
  u64 late_end_ns;  // when the last of them expired
  u32 is_due;       // it was told to switch
  u32 is_joined;    // due_ns is when a late timer was due, in whose interrupt it was told that
  u32 frames;       // of where it was at due_ns, or in that interrupt
  u32 reserved;
  u64 told_until_ns;  // the end of the last one told of
  u64 stack[WORST_FRAMES];
  u64 told_ns[WORST_SECTIONS_KEPT];  // the longest told of, where so many are wanted
};
WIRE_SIZE(struct worst_section, 64 + WORST_FRAMES * 8 + WORST_SECTIONS_KEPT * 8);

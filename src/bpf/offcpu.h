// SPDX-License-Identifier: GPL-2.0
// The time of threads on and off the CPU, without a record for each wait. Written by probes/sched.
#pragma once

#include "bpf/origin.h"

// What a thread was blocked for, as far as its system call and its state tell.
enum wait_reason {
  REASON_OTHER,   // uninterruptible but not for a disk (kernel locks), calls without a reason below
  REASON_DISK,    // a disk, in a system call or a thread of the kernel
  REASON_FAULT,   // a disk, in a page fault
  REASON_FUTEX,   // another thread, for a lock or a condition
  REASON_EVENTS,  // one of several descriptors
  REASON_INPUT,   // what one descriptor has to give
  REASON_OUTPUT,  // room for what one descriptor has to take
  REASON_SLEEP,   // a time
  REASON_CHILD,   // a child, or a signal
  REASON_STOPPED,  // stopped, traced or frozen
  REASON_LOCK,     // a lock of a file
  WAIT_REASONS
};
// offcpu_thread has one array for the reasons before this one, and a field for each later.
#define FIRST_REASONS REASON_LOCK

// Where a thread was.
struct offcpu_sums {
  u64 oncpu_ns;  // interrupts included
  u64 sleeping_ns;
  u64 uninterruptible_ns;
  u64 runqueue_ns;
  u64 preempted_ns;
  u64 throttled_ns;
};
WIRE_SIZE(struct offcpu_sums, 48);

// Sums of a thread of the target, in its ledger, over the time that the session measured.
struct thread_totals {
  u64 member;    // member_key() while the thread belongs to the target; 0: nothing is counted
  u64 since_ns;  // when counting began; 0: it has not, or with a number: the last record is written
  struct offcpu_sums sums;
  u64 waits;        // waits that have ended
  u64 preemptions;  // of these, waits of a thread that another one displaced from its CPU
  u64 longest_ns;   // longest wait that ended in `epoch`
  u64 earlier_ns;   // the same of `earlier_epoch`
  u32 epoch;
  u32 earlier_epoch;
  u32 number;                   // of the thread, in the order in which counting began; from 1
  u32 unreported_epoch;         // first epoch whose longest wait may have no record
  u64 reason_ns[WAIT_REASONS];  // parts of the blocked time in `sums`
};
WIRE_SIZE(struct thread_totals, 200);

enum offcpu_flags {
  OFFCPU_ENDED = 1,  // the thread has ended or left the target: its last record
};

// Where a thread was from since_ns until header.time_ns. The sums include the present wait or run.
struct offcpu_thread {
  struct event_header header;
  u64 since_ns;
  struct offcpu_sums sums;
  u64 waits;        // waits that have ended
  u64 preemptions;  // of these, waits of a thread that another one displaced from its CPU
  u64 longest_ns;   // longest wait that has ended since the thread's last record
  u64 open_ns;      // age of the present wait; 0: the thread runs, or has ended
  u32 open_state;   // enum wait_state of the present wait
  u32 number;       // the thread among all of the session, since a tid may be used again; 0: it has
                    // not run yet
  u16 flags;        // enum offcpu_flags
  u16 reserved[3];
  // The parts of sleeping_ns + uninterruptible_ns. Calls have reasons only if a SyscallsProbe
  // follows them.
  u64 reason_ns[FIRST_REASONS];
  struct process_origin origin;
  u64 lock_ns;  // likewise: REASON_LOCK
};
WIRE_SIZE(struct offcpu_thread, 288);

enum displacer_how {
  DISPLACED,      // it took the CPU: the time until the displaced thread had a CPU again
  WAITED_BEHIND,  // it had the CPU while the woken thread waited in the run queue. Of very many
                  // such waits some are looked at, and stand for the others: the times are
                  // estimates
};

// The waits that began when one thread displaced another from its CPU, or those of a woken thread
// while another had its CPU, since the last such record.
struct offcpu_displacer {
  struct event_header header;  // the waiting thread; time_ns: the end of the interval
  u64 count;
  u64 total_ns;
  u64 max_ns;
  u32 number;         // of the waiting thread, as in offcpu_thread
  u32 displacer_tid;  // 0: the displaced thread came back on another CPU; WAITED_BEHIND: the CPU
                      // idled, or it is not known which thread had it, as the name says
  char displacer[COMM_SIZE];
  u32 how;  // enum displacer_how
  u32 reserved;
};
WIRE_SIZE(struct offcpu_displacer, 104);

// Where the threads were that left the header's CPU, since the begin of the session. The sums
// include the waits and runs in progress.
struct offcpu_cpu {
  struct event_header header;  // no thread; time_ns: the end of the interval
  struct offcpu_sums sums;
  u64 waits;  // waits that have ended
  u64 preemptions;
  u64 longest_ns;  // longest wait that has ended since the CPU's last record
  u64 open_ns;     // age of the longest wait in progress; 0: there is none
};
WIRE_SIZE(struct offcpu_cpu, 128);

// The same in the kernel.
struct cpu_totals {
  struct offcpu_sums sums;     // of what has ended
  struct offcpu_sums present;  // of what goes on; for the last iterator of threads
  u64 waits;
  u64 preemptions;
  u64 longest_ns[2];  // by the lowest bit of the epoch
  u64 open_ns;        // as `present`
};
WIRE_SIZE(struct cpu_totals, 136);

#define DISPLACERS_MAX 32768  // entries of the table of displacers

struct displacer_key {
  u32 number;  // of the waiting thread
  u32 tid;
  u32 epoch;
  u32 how;
};
WIRE_SIZE(struct displacer_key, 16);

// SPDX-License-Identifier: GPL-2.0
// Types that cross the kernel/user boundary. Compiles as BPF C and as C++20. Fixed-width scalars
// and char arrays only, largest first, no implicit padding: WIRE_SIZE proves it in both compilers.
#pragma once

#ifdef __cplusplus
#include <cstdint>
using u8 = std::uint8_t;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s16 = std::int16_t;
using s32 = std::int32_t;
using s64 = std::int64_t;
#define WIRE_SIZE(type, bytes) static_assert(sizeof(type) == (bytes))
#else
#include <linux/types.h>
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
#define WIRE_SIZE(type, bytes) _Static_assert(sizeof(type) == (bytes), #type)
#endif

#define COMM_SIZE 16

// The first part of every record, in the ring buffer and in the trace file. It names the thread and
// the CPU, so a record stays readable when its neighbours are lost.
struct event_header {
  u64 time_ns;    // CLOCK_MONOTONIC at the end of the measured event
  u64 cgroup_id;  // in the hierarchy that the session watches; 0: watches none
  u32 pid;        // process (the kernel's tgid)
  u32 tid;        // thread (the kernel's pid)
  u16 kind;       // schema id
  u16 size;       // of the whole record in bytes, this header included
  u32 cpu;
  char comm[COMM_SIZE];  // thread name, NUL-padded
};
WIRE_SIZE(struct event_header, 48);

// Schema ids. A value is never reused for another kind.
enum record_kind {
  RECORD_SYSCALL_CALL = 1,
  RECORD_SYSCALL_CELL = 2,
  RECORD_SYSCALL_OPEN = 3,
  RECORD_SPAN = 4,  // span.h
  RECORD_SCHED_WAIT = 5,
  RECORD_SCHED_WAKE = 6,
  RECORD_FRAME = 7,  // frame.h
  RECORD_CALLER_STACK = 8,
  RECORD_WAIT_STACK = 9,     // user_stack.h
  RECORD_TIMERLAT = 10,      // timerlat.h
  RECORD_APP_TIMER = 11,     // app_timer.h
  RECORD_WORST_WINDOW = 12,  // worst.h
  RECORD_WORST_EVENT = 13,
  RECORD_OSNOISE_GAP = 14,  // osnoise.h
  RECORD_OSNOISE_SAMPLE = 15,
  RECORD_SCHED_THROTTLE = 16,  // sched.h
  RECORD_SCHED_RUNS = 17,
  RECORD_WAIT_PLACES = 18,
  RECORD_CPU_SAMPLE = 19,
  RECORD_SIGNAL_HANDLER = 20,  // signals.h
  RECORD_STOP_SIGNAL = 21,
  RECORD_TIMERLAT_CPU = 22,    // timerlat.h
  RECORD_TRACER_TEXT = 23,     // worst.h
  RECORD_PROFILE_SAMPLE = 24,  // profile.h
  RECORD_PROFILE_CPU = 25,
  RECORD_OFFCPU_THREAD = 26,  // offcpu.h
  RECORD_OFFCPU_DISPLACER = 27,
  RECORD_CALL_OBJECT = 28,       // call_object.h
  RECORD_DISK_USE = 29,          // disk_use.h
  RECORD_CHOSEN_THRESHOLD = 30,  // latencies.h
  RECORD_OFFCPU_CPU = 31,        // offcpu.h
  RECORD_SOCKET_QUEUE = 32,      // socket_queues.h
  RECORD_SOFTNET = 33,
  RECORD_SPAN_SUM = 34,  // span_sums.h
};

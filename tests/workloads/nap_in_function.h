// A function that is on the stack while it naps, for workloads that are built several times. NAP is
// its name. PADDING moves it, so that its addresses belong to other functions in other builds.
#pragma once

#include "workload.h"

#define KEEP __attribute__((noinline, used))

#ifdef PADDING
KEEP long innocent(long x) {
  return x * 3 + (x >> PADDING) + (x << PADDING) * 7;
}
#endif

KEEP void NAP(const struct timespec* duration) {
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, duration, NULL);
  __asm__ volatile(""); /* no tail call: the function stays on the stack */
}

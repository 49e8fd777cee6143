// The library that `reloads` loads: made several times, with NAP as another name. PADDING moves
// what is at an address of one of them to where another one has another function.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define KEEP __attribute__((noinline, used))

#ifdef PADDING
KEEP long innocent(long x) {
  return x * 3 + (x >> PADDING) + (x << PADDING) * 7;
}
#endif

KEEP void NAP(const struct timespec* duration) {
  syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, duration, NULL);
  __asm__ volatile(""); /* no tail call: this function is on the stack meanwhile */
}

void (*const nap)(const struct timespec*) = NAP;

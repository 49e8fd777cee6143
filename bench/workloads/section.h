// SPDX-License-Identifier: Apache-2.0
// Shared by all workloads. A workload stays alive over many measurements: it prints "ready", then
// runs one timed section for each line "COUNT [RATE]" of stdin. The harness can time the same
// process with and without a tracer, and attach the tracer between sections. A workload ends at the
// end of stdin.
#pragma once

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

struct section {
  uint64_t count;  // operations to time, per thread
  uint64_t rate;   // operations a second; 0: no limit
};

static inline uint64_t monotonic_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// Ends the program with a message: a workload that half works must not be measured.
static inline _Noreturn void give_up(const char* what) {
  perror(what);
  exit(1);
}

// Pins the calling thread. A negative CPU leaves it where it is.
static inline void pin_to_cpu(int cpu) {
  if (cpu < 0) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((unsigned)cpu, &set);
  if (sched_setaffinity(0, sizeof(set), &set) != 0) give_up("sched_setaffinity");
}

static inline void say_ready(void) {
  puts("ready");
  fflush(stdout);
}

// Reads the next section from stdin; false at the end of stdin.
static inline bool next_section(struct section* section) {
  char line[128];
  if (!fgets(line, sizeof(line), stdin)) return false;
  char* end = line;
  section->count = strtoull(line, &end, 10);
  section->rate = strtoull(end, NULL, 10);
  return true;
}

// Number of untimed operations before the timed ones: enough to warm caches, few enough for a slow
// tracer.
static inline uint64_t warm_up_count(uint64_t count) {
  uint64_t tenth = count / 10;
  return tenth < 10000 ? tenth : 10000;
}

// `made` counts every operation since the line was read, including the warm-up: the number that a
// tracer must have seen.
static inline void report_section(double ns_per_operation, uint64_t made, uint64_t elapsed_ns) {
  printf("ns=%.2f made=%llu elapsed_ns=%llu\n", ns_per_operation, (unsigned long long)made,
         (unsigned long long)elapsed_ns);
  fflush(stdout);
}

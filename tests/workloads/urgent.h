// A thread that others do not preempt, for programs that print which thread had a CPU, and when.
#pragma once

#include <sched.h>
#include <sys/prctl.h>

#include "workload.h"

/* Names the calling thread, binds it to `cpu`, and gives it FIFO `priority`. Ends the program with
 * 77 if the kernel refuses. */
static inline void be_urgent(const char* name, int priority, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  prctl(PR_SET_NAME, name);
  if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
  const struct sched_param param = {.sched_priority = priority};
  if (sched_setscheduler(0, SCHED_FIFO, &param)) {
    perror("sched_setscheduler");
    exit(77);
  }
}

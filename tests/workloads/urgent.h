// A thread as others do not interrupt it: for programs that say when who had a CPU.
#pragma once

#include <sched.h>
#include <sys/prctl.h>

#include "workload.h"

/* The calling thread is called `name`, bound to `cpu`, and FIFO of `priority`. Ends the program
 * with 77 where that is refused. */
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

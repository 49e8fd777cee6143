// SPDX-License-Identifier: Apache-2.0
// periodic COUNT PERIOD_NS [WORK_NS]: waits with liboverdue-timerlat COUNT times, and works for
// WORK_NS after each wait. Prints each activation as a line of JSON at the end.
#define _GNU_SOURCE
#include "overdue/timerlat.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

int main(int argc, char** argv) {
  const int count = argc > 1 ? atoi(argv[1]) : 10;
  const uint64_t period_ns = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;
  const uint64_t work_ns = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
  struct overdue_timerlat_activation* const all = calloc((size_t)count, sizeof(*all));
  const int cpu = sched_getcpu();
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  struct overdue_timerlat* timer = NULL;
  if (!all || sched_setaffinity(0, sizeof(set), &set)) return 1;
  const int refused = overdue_timerlat_open((unsigned)cpu, period_ns, &timer);
  if (refused) {
    fprintf(stderr, "periodic: %s\n", strerror(-refused));
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    if (overdue_timerlat_wait(timer, &all[i])) return 1;
    const uint64_t until_ns = now_ns() + work_ns;
    while (now_ns() < until_ns) continue;
  }
  overdue_timerlat_close(timer);
  for (int i = 0; i < count; ++i)
    printf(
        "{\"number\":%llu,\"expires_ns\":%llu,\"user_ns\":%llu,\"done_ns\":%llu,\"missed\":%llu}\n",
        (unsigned long long)all[i].number, (unsigned long long)all[i].expires_ns,
        (unsigned long long)all[i].user_ns, (unsigned long long)all[i].done_ns,
        (unsigned long long)all[i].missed);
  free(all);
  return 0;
}

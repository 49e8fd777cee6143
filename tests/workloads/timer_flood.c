// Timers that all expire at once, in one interrupt: timer_flood CPU TIMERS EVERY_MS. Prints "ready"
// when the timers are set. Runs until it is killed.
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const int count = atoi(argv[2]);
  const long every_ns = atol(argv[3]) * 1000000;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1]), &set);
  const struct rlimit files = {(rlim_t)count + 100, (rlim_t)count + 100};
  int* const timers = calloc((size_t)count, sizeof(*timers));
  if (!timers || sched_setaffinity(0, sizeof set, &set) != 0 ||
      setrlimit(RLIMIT_NOFILE, &files) != 0)
    return 1;
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  const struct itimerspec together = {.it_interval = {0, every_ns},
                                      .it_value = {now.tv_sec + 1, now.tv_nsec}};
  for (int i = 0; i < count; i++) {
    timers[i] = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
    if (timers[i] < 0 || timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &together, NULL) != 0)
      return 1;
  }
  puts("ready");
  fflush(stdout);
  // Reading a timer sets it again, for the same moment as the others.
  for (uint64_t expired;;)
    for (int i = 0; i < count; i++)
      if (read(timers[i], &expired, sizeof expired) != (ssize_t)sizeof expired) return 1;
}

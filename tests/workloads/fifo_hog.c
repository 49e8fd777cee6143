// Occupies a CPU with real-time priority: fifo_hog CPU PRIORITY MILLISECONDS [TIMES]. Prints, each
// time, a line with its thread id and the time of the begin (CLOCK_MONOTONIC); sleeps 50 ms in
// between.
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000000000ll + now.tv_nsec;
}

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(atoi(argv[1]), &set);
  const struct sched_param parameters = {.sched_priority = atoi(argv[2])};
  if (sched_setaffinity(0, sizeof set, &set) != 0 ||
      sched_setscheduler(0, SCHED_FIFO, &parameters) != 0) {
    perror("fifo_hog");
    return 1;
  }
  const int times = argc > 4 ? atoi(argv[4]) : 1;
  for (int i = 0; i < times; i++) {
    if (i > 0) usleep(50 * 1000);
    const long long begin = now_ns(), end = begin + atoll(argv[3]) * 1000000ll;
    while (now_ns() < end) {
    }
    printf("%ld %lld\n", (long)syscall(SYS_gettid), begin);
    fflush(stdout);
  }
  return 0;
}

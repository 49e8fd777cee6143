// Lets the kernel's timerlat tracer measure this thread: timerlat_fd CPU [READS [WORK_US
// [PINNED]]]. The thread is pinned to CPU, or to CPU PINNED, or with -1 to none. It opens CPU's
// timerlat_fd, prints its thread id, and reads READS times (0: for ever), busy for WORK_US after
// each read. Then it prints a line for each read: the time of its return, and the time at which the
// next began (CLOCK_MONOTONIC). Exit status 1 if open fails, 3 if a read fails.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>

#include "workload.h"

int main(int argc, char** argv) {
  const long cpu = number_argument(argc, argv, 1, 0), reads = number_argument(argc, argv, 2, 0);
  const long long work_ns = number_argument(argc, argv, 3, 0) * 1000ll;
  const long pinned = number_argument(argc, argv, 4, cpu);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(pinned, &set);
  if (pinned >= 0 && sched_setaffinity(0, sizeof set, &set) != 0) fail("sched_setaffinity");

  char path[128];
  snprintf(path, sizeof path, "/sys/kernel/tracing/osnoise/per_cpu/cpu%ld/timerlat_fd", cpu);
  const int fd = open(path, O_RDONLY);
  if (fd < 0) {
    printf("error opening %s: %s\n", path, strerror(errno));
    return 1;
  }
  printf("%ld\n", (long)syscall(SYS_gettid));
  fflush(stdout);

  long long(*times)[2] = calloc(reads > 0 ? (size_t)reads : 1, sizeof *times);
  if (times == NULL) fail("calloc");
  for (long i = 0; reads == 0 || i < reads; i++) {
    char buffer[64];
    if (read(fd, buffer, sizeof buffer) < 0) {
      printf("error reading %s: %s\n", path, strerror(errno));
      return 3;
    }
    long long* const times_of_this = times[reads > 0 ? i : 0];
    times_of_this[0] = now_ns();
    do {
      times_of_this[1] = now_ns();
    } while (times_of_this[1] - times_of_this[0] < work_ns);
  }
  // One more read, because the kernel reports the last work on the next read.
  char buffer[64];
  if (read(fd, buffer, sizeof buffer) < 0) perror("read");
  close(fd);
  for (long i = 0; i < reads; i++) printf("%lld %lld\n", times[i][0], times[i][1]);
  return 0;
}

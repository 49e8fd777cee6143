/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "overdue/timerlat.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static const uint64_t second_ns = 1000000000;

struct overdue_timerlat {
  int fd;
  uint64_t period_ns;
  uint64_t first_ns;   /* start of the first period */
  uint64_t number;     /* number of waits that have returned */
  uint64_t periods;    /* number of periods that were over when the last wait returned */
  uint64_t expires_ns; /* end of the period that the last wait was for */
  uint64_t done_ns;    /* start of the wait after the last one that returned; 0: not yet */
};

static uint64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * second_ns + (uint64_t)now.tv_nsec;
}

static struct timespec to_timespec(uint64_t ns) {
  return (struct timespec){.tv_sec = (time_t)(ns / second_ns), .tv_nsec = (long)(ns % second_ns)};
}

/* 0 if the calling thread may run on this CPU alone, else a negative errno. */
static int check_affinity(unsigned int cpu) {
  /* The kernel's own set may be larger than cpu_set_t. */
  const unsigned int most_cpus = 1 << 16;
  cpu_set_t* const set = CPU_ALLOC(most_cpus);
  if (!set) return -ENOMEM;
  const size_t size = CPU_ALLOC_SIZE(most_cpus);
  int result = 0;
  if (sched_getaffinity(0, size, set))
    result = -errno;
  else if (cpu >= most_cpus || cpu >= (unsigned long)sysconf(_SC_NPROCESSORS_CONF))
    result = -EINVAL;
  else if (CPU_COUNT_S(size, set) != 1 || !CPU_ISSET_S(cpu, size, set))
    result = -EPERM;
  CPU_FREE(set);
  return result;
}

int overdue_timerlat_open(unsigned int cpu, uint64_t period_ns, struct overdue_timerlat** opened) {
  if (period_ns < OVERDUE_TIMERLAT_PERIOD_MIN_NS || period_ns > OVERDUE_TIMERLAT_PERIOD_MAX_NS)
    return -EINVAL;
  const int refused = check_affinity(cpu);
  if (refused) return refused;
  struct overdue_timerlat* const timer = calloc(1, sizeof(*timer));
  if (!timer) return -ENOMEM;
  timer->period_ns = period_ns;
  timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
  timer->first_ns = now_ns();
  const struct itimerspec periodic = {.it_interval = to_timespec(period_ns),
                                      .it_value = to_timespec(timer->first_ns + period_ns)};
  if (timer->fd < 0 || timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &periodic, NULL)) {
    const int error = errno;
    overdue_timerlat_close(timer);
    return -error;
  }
  *opened = timer;
  return 0;
}

/* The end of the period that the thread waited for. `over` periods have ended since the previous
 * wait: the thread waited for the first that ended after it began to wait, else for the last. */
static uint64_t awaited_ns(const struct overdue_timerlat* timer, uint64_t over) {
  const uint64_t first_ns = timer->first_ns + (timer->periods + 1) * timer->period_ns;
  if (timer->done_ns <= first_ns) return first_ns;
  const uint64_t later = (timer->done_ns - first_ns + timer->period_ns - 1) / timer->period_ns;
  return first_ns + (later < over ? later : over - 1) * timer->period_ns;
}

int overdue_timerlat_wait(struct overdue_timerlat* timer,
                          struct overdue_timerlat_activation* activation) {
  /* A wait that a signal interrupted goes on: the thread was done when the wait first began. */
  if (!timer->done_ns) timer->done_ns = now_ns();
  uint64_t over = 0; /* number of periods since the last read */
  if (read(timer->fd, &over, sizeof(over)) != (ssize_t)sizeof(over)) return -errno;
  const uint64_t back_ns = now_ns();
  const uint64_t before_ns = timer->expires_ns;
  timer->expires_ns = awaited_ns(timer, over);
  timer->periods += over;
  timer->number++;
  if (activation) {
    activation->number = timer->number;
    activation->expires_ns = timer->expires_ns;
    activation->user_ns = back_ns - timer->expires_ns;
    activation->done_ns = before_ns ? timer->done_ns - before_ns : 0;
    activation->missed = over - 1;
  }
  timer->done_ns = 0;
  return 0;
}

int overdue_timerlat_fd(const struct overdue_timerlat* timer) {
  return timer->fd;
}

void overdue_timerlat_close(struct overdue_timerlat* timer) {
  if (!timer) return;
  if (timer->fd >= 0) close(timer->fd);
  free(timer);
}

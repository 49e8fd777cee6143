// SPDX-License-Identifier: Apache-2.0
// Sleeps that end later than asked for, by the slack of timers: bench_finding CPU. Each operation
// is a nanosleep of 200 µs below 40 frames of at least 512 bytes, more stack than Overdue copies by
// default. The timed value is the thread's own CPU time over that one call. It includes the work of
// a tracer in the traced thread, but neither the sleep nor a preemption. Between operations the
// thread spins, because another sleep would be late too.
#include <unistd.h>

#include "section.h"

#define SLEEP_NS 200000
#define FRAMES 40
#define FRAME_BYTES 512
#define MAX_OPERATIONS 100000

struct samples {
  uint64_t cpu_ns[MAX_OPERATIONS];
  uint64_t wall_ns[MAX_OPERATIONS];
};

struct cost {
  uint64_t cpu_ns;
  uint64_t wall_ns;
};

static uint64_t thread_cpu_ns(void) {
  struct timespec now;
  if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now) != 0) give_up("clock_gettime");
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// The wall clock is read outside the CPU clock, because reading it makes no system call.
static void sleep_once(struct cost* cost) {
  const struct timespec time = {.tv_nsec = SLEEP_NS};
  uint64_t begin_ns = monotonic_ns();
  uint64_t cpu_begin_ns = thread_cpu_ns();
  if (nanosleep(&time, NULL) != 0) give_up("nanosleep");
  cost->cpu_ns = thread_cpu_ns() - cpu_begin_ns;
  cost->wall_ns = monotonic_ns() - begin_ns;
}

// The use of the buffer after the call keeps one frame per call.
static __attribute__((noinline)) unsigned go_deep(unsigned frames, struct cost* cost) {
  volatile unsigned char room[FRAME_BYTES];
  room[frames] = 1;
  if (frames > 1) {
    room[0] = (unsigned char)go_deep(frames - 1, cost);
  } else {
    sleep_once(cost);
  }
  return room[frames];
}

static int ascending(const void* first, const void* second) {
  uint64_t a = *(const uint64_t*)first, b = *(const uint64_t*)second;
  return (a > b) - (a < b);
}

static uint64_t quantile(const uint64_t* sorted, uint64_t count, double share) {
  return sorted[(uint64_t)((double)(count - 1) * share + 0.5)];
}

// Runs `rate` operations a second. A late operation delays all later ones, so they never crowd.
static void run(struct samples* samples, uint64_t count, uint64_t rate) {
  uint64_t interval_ns = rate ? 1000000000u / rate : 0;
  for (uint64_t i = 0; i < count; i++) {
    uint64_t due_ns = monotonic_ns() + interval_ns;
    struct cost cost = {0, 0};
    go_deep(FRAMES, &cost);
    samples->cpu_ns[i] = cost.cpu_ns;
    samples->wall_ns[i] = cost.wall_ns;
    while (monotonic_ns() < due_ns) continue;
  }
}

int main(int argc, char** argv) {
  static struct samples samples;
  if (argc != 2) {
    fputs("usage: bench_finding CPU\n", stderr);
    return 2;
  }
  pin_to_cpu(atoi(argv[1]));
  say_ready();
  struct section section;
  while (next_section(&section)) {
    if (section.count < 1 || section.count > MAX_OPERATIONS) {
      fprintf(stderr, "bench_finding: between 1 and %d operations\n", MAX_OPERATIONS);
      return 2;
    }
    uint64_t warm_up = warm_up_count(section.count);
    run(&samples, warm_up, section.rate);
    uint64_t begin_ns = monotonic_ns();
    run(&samples, section.count, section.rate);
    uint64_t elapsed_ns = monotonic_ns() - begin_ns;
    qsort(samples.cpu_ns, section.count, sizeof(uint64_t), ascending);
    qsort(samples.wall_ns, section.count, sizeof(uint64_t), ascending);
    printf("cpu_p99=%llu wall=%llu ",
           (unsigned long long)quantile(samples.cpu_ns, section.count, 0.99),
           (unsigned long long)quantile(samples.wall_ns, section.count, 0.5));
    report_section((double)quantile(samples.cpu_ns, section.count, 0.5), section.count + warm_up,
                   elapsed_ns);
  }
  return 0;
}

// cpu-demo: more runnable threads than one CPU can run. hog-1, hog-2, … compute without a pause;
// victim computes in bursts and sleeps in between. A burst makes no system call that waits: its
// time beyond its CPU time is time in the run queue.
#include <sys/prctl.h>

#include "demo.h"

static int64_t hogs = 3, cpu = -1, burst = 10 * MILLISECOND, pause_time = 5 * MILLISECOND, all_cpus;
static pthread_barrier_t all_start;
static volatile uint64_t result;  // keeps the compiler from removing computations

IN_STACKS void compute_a_little(void) {
  uint64_t value = result;
  for (int i = 0; i < 20000; i++) value = value * 6364136223846793005ULL + 1442695040888963407ULL;
  result = value;
}

struct usage {
  int64_t begin, cpu, schedstat;
};

// The wall clock is read outside the CPU clock, here and in say_usage(), so that wall time is never
// the shorter one.
static struct usage begin_usage(void) {
  struct usage usage;
  usage.schedstat = schedstat_runqueue_ns();
  usage.begin = now_ns();
  usage.cpu = thread_cpu_ns();
  return usage;
}

static void say_usage(struct usage begin, int64_t slept) {
  const int64_t used = thread_cpu_ns() - begin.cpu, wall = now_ns() - begin.begin;
  const int64_t waited = schedstat_runqueue_ns() - begin.schedstat;
  char schedstat[32] = "null";
  if (begin.schedstat >= 0) snprintf(schedstat, sizeof schedstat, "%lld", (long long)waited);
  say("thread", begin.begin,
      ",\"wall_ns\":%lld,\"cpu_ns\":%lld,\"slept_ns\":%lld,\"runqueue_ns\":%lld,\"schedstat_"
      "runqueue_ns\":%s",
      (long long)wall, (long long)used, (long long)slept, (long long)(wall - used - slept),
      schedstat);
}

IN_STACKS void be_a_hog(struct worker* self) {
  (void)self;
  pthread_barrier_wait(&all_start);
  const struct usage begin = begin_usage();
  while (!must_stop()) compute_a_little();
  say_usage(begin, 0);
}

IN_STACKS void compute_in_a_burst(int64_t asked) {
  const int64_t begin = now_ns(), begin_cpu = thread_cpu_ns();
  int64_t used = 0;
  while (used < asked && !must_stop()) {
    compute_a_little();
    used = thread_cpu_ns() - begin_cpu;
  }
  const int64_t took = now_ns() - begin;
  say("burst", begin,
      ",\"function\":\"compute_in_a_burst\",\"asked_ns\":%lld,\"took_ns\":%lld,\"cpu_ns\":%lld,"
      "\"runqueue_ns\":%lld",
      (long long)asked, (long long)took, (long long)used, (long long)(took - used));
}

// Returns the requested time. The thread could have run for the rest of the time.
static int64_t sleep_a_little(void) {
  const int64_t begin = now_ns();
  const struct timespec nap = {.tv_sec = pause_time / SECOND, .tv_nsec = pause_time % SECOND};
  clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
  const int64_t took = now_ns() - begin;
  say("sleep", begin, ",\"asked_ns\":%lld,\"took_ns\":%lld,\"late_ns\":%lld", (long long)pause_time,
      (long long)took, (long long)(took - pause_time));
  return pause_time;
}

IN_STACKS void be_the_victim(struct worker* self) {
  prctl(PR_SET_TIMERSLACK, 1);  // so that no lateness comes from the kernel's timer slack
  pthread_barrier_wait(&all_start);
  const struct usage begin = begin_usage();
  int64_t slept = 0;
  while (!must_stop()) {
    compute_in_a_burst(random_between(&self->random, burst / 2, burst));
    if (now_ns() + pause_time < deadline_ns()) slept += sleep_a_little();
  }
  say_usage(begin, slept);
}

static const struct demo_option options[] = {
    {"--hogs", OPTION_COUNT, &hogs, NULL, 0, MAX_THREADS - 1, "N",
     "threads hog-1, ...; 3 if not given"},
    {"--cpu", OPTION_COUNT, &cpu, NULL, 0, 1023, "CPU",
     "where all run; the lowest allowed if not given"},
    {"--all-cpus", OPTION_FLAG, &all_cpus, NULL, 0, 1, NULL, "not bound to one CPU"},
    {"--burst", OPTION_TIME, &burst, NULL, 1000, 10LL * SECOND, "TIME",
     "CPU time of the victim's longest burst, the shortest is half of it; 10ms if not given"},
    {"--pause", OPTION_TIME, &pause_time, NULL, 1000, 10LL * SECOND, "TIME",
     "the victim's sleep between bursts; 5ms if not given"},
    {0}};

int main(int argc, char** argv) {
  parse_options(
      argc, argv,
      "Threads hog-1, hog-2, ... keep one CPU busy, and the thread victim, which needs it now and "
      "then, says how long it was kept from running.",
      options);
  if (all_cpus && cpu >= 0) usage_error("--cpu and --all-cpus contradict each other");
  const int bound_to = all_cpus ? -1 : bind_to_cpu(cpu);
  pthread_barrier_init(&all_start, NULL, (unsigned)hogs + 1);
  say_start();
  static struct worker workers[MAX_THREADS];
  start_worker(&workers[0], "victim", 0, be_the_victim);
  for (int i = 1; i <= hogs; i++) start_worker(&workers[i], "hog", i, be_a_hog);
  for (int i = 0; i <= hogs; i++) join_worker(&workers[i]);
  say("summary", now_ns(), ",\"threads\":%lld,\"cpu\":%d", (long long)hogs + 1, bound_to);
  return exit_status();
}

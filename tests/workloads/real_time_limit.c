// A thread computes on a CPU with real-time priority, until the kernel's limit throttles such
// threads; a higher-priority thread sleeps 2 ms at a time there: real_time_limit CPU MILLISECONDS
// [FILE]. FILE is the `cgroup.procs` of a cgroup to run in. Prints how long the first thread stood
// still, off its CPU, and how late the second came, each only if over 10 ms.
#define _GNU_SOURCE
#include <pthread.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "urgent.h"

#define MS 1000000ll

static int cpu;
static volatile bool computes = true;
static pthread_barrier_t ready;

static void* sleeper(void* unused) {
  be_urgent("sleeper", 20, cpu);
  pthread_barrier_wait(&ready);
  long long last = now_ns(), late = 0, longest = 0;
  int times = 0;
  while (computes) {
    struct timespec rest = {.tv_nsec = 2 * MS};
    nanosleep(&rest, 0);
    long long next = now_ns(), over = next - last - 2 * MS;
    last = next;
    if (over < 10 * MS) continue;
    times++;
    late += over;
    if (over > longest) longest = over;
  }
  printf("{\"name\": \"sleeper\", \"times\": %d, \"sum_ns\": %lld, \"longest_ns\": %lld}\n", times,
         late, longest);
  return unused;
}

// Number of times that this thread was preempted. Time stolen by a hypervisor does not count.
static long times_preempted(void) {
  struct rusage usage;
  if (getrusage(RUSAGE_THREAD, &usage)) fail("getrusage");
  return usage.ru_nivcsw;
}

int main(int argc, char** argv) {
  cpu = number_argument(argc, argv, 1, 0);
  long ms = number_argument(argc, argv, 2, 1500);
  if (argc > 3) join_cgroup(argv[3]);
  pthread_t thread;
  pthread_barrier_init(&ready, 0, 2);
  if (pthread_create(&thread, 0, sleeper, 0)) fail("pthread_create");
  pthread_barrier_wait(&ready);
  be_urgent("computer", 10, cpu);
  long long begin = now_ns(), last = begin, still = 0, longest = 0;
  long preempted = times_preempted();
  int times = 0;
  while (last - begin < ms * MS) {
    long long next = now_ns(), gap = next - last;
    last = next;
    if (gap < MS) continue;
    long before = preempted;
    preempted = times_preempted();
    if (gap < 10 * MS || preempted == before) continue;
    times++;
    still += gap;
    if (gap > longest) longest = gap;
  }
  computes = false;
  pthread_join(thread, 0);
  printf("{\"name\": \"computer\", \"times\": %d, \"sum_ns\": %lld, \"longest_ns\": %lld}\n", times,
         still, longest);
  return 0;
}

// SPDX-License-Identifier: Apache-2.0
// getppid in a loop, on a thread pinned to each given CPU: bench_getppid CPU [CPU…]. It is the
// cheapest system call, so nearly all of a tracer's cost shows. With a rate, calls come in bursts,
// and only the bursts are timed.
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "section.h"

#define MAX_THREADS 64
#define BURST 50

struct worker {
  pthread_t thread;
  pthread_barrier_t* start;
  struct section section;
  int cpu;
  uint64_t timed_ns;
  uint64_t elapsed_ns;
};

static void call(uint64_t count) {
  for (uint64_t i = 0; i < count; i++) syscall(SYS_getppid);
}

// Spins between bursts on the vDSO clock, which makes no system call. Time lost to a preemption is
// caught up.
static void run_paced(struct worker* worker) {
  uint64_t begin_ns = monotonic_ns();
  uint64_t interval_ns = BURST * 1000000000ull / worker->section.rate;
  uint64_t timed_ns = 0;
  for (uint64_t done = 0, due_ns = begin_ns; done < worker->section.count; due_ns += interval_ns) {
    uint64_t now_ns = monotonic_ns();
    while (now_ns < due_ns) now_ns = monotonic_ns();
    uint64_t left = worker->section.count - done;
    uint64_t burst = left < BURST ? left : BURST;
    call(burst);
    timed_ns += monotonic_ns() - now_ns;
    done += burst;
  }
  worker->timed_ns = timed_ns;
  worker->elapsed_ns = monotonic_ns() - begin_ns;
}

static void run_freely(struct worker* worker) {
  uint64_t begin_ns = monotonic_ns();
  call(worker->section.count);
  worker->timed_ns = worker->elapsed_ns = monotonic_ns() - begin_ns;
}

static void* run(void* argument) {
  struct worker* worker = argument;
  pin_to_cpu(worker->cpu);
  call(warm_up_count(worker->section.count));
  pthread_barrier_wait(worker->start);
  if (worker->section.rate) {
    run_paced(worker);
  } else {
    run_freely(worker);
  }
  return NULL;
}

int main(int argc, char** argv) {
  unsigned threads = (unsigned)argc - 1;
  if (threads < 1 || threads > MAX_THREADS) {
    fputs("usage: bench_getppid CPU [CPU…]\n", stderr);
    return 2;
  }
  static struct worker workers[MAX_THREADS];
  pthread_barrier_t start;
  pthread_barrier_init(&start, NULL, threads);
  for (unsigned i = 0; i < threads; i++) {
    workers[i].cpu = atoi(argv[i + 1]);
    workers[i].start = &start;
  }
  pin_to_cpu(workers[0].cpu);
  say_ready();
  struct section section;
  while (next_section(&section)) {
    for (unsigned i = 0; i < threads; i++) workers[i].section = section;
    for (unsigned i = 1; i < threads; i++) {
      if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0)
        give_up("pthread_create");
    }
    run(&workers[0]);
    double timed_ns = (double)workers[0].timed_ns;
    for (unsigned i = 1; i < threads; i++) {
      pthread_join(workers[i].thread, NULL);
      timed_ns += (double)workers[i].timed_ns;
    }
    uint64_t made = threads * (section.count + warm_up_count(section.count));
    report_section(timed_ns / (double)(threads * section.count), made, workers[0].elapsed_ns);
  }
  return 0;
}

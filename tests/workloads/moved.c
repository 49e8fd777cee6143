// A thread that waits in the run queue of one CPU, and then of another: moved [ROUNDS].
//
// Each round, `waiter` is due on CPU 0, where the higher-priority `first` spins. 30 ms later,
// main() moves `waiter` to CPU 1, where `second` spins, for another 20 ms. Prints a line of JSON a
// round: the times at which the waiter was due, moved and ran, and the tid of each thread. Exits
// with 77 if there is no second CPU, or if real-time priorities are refused.
#define _GNU_SOURCE
#include <pthread.h>

#include "urgent.h"

#define MS 1000000LL
#define APART (150 * MS)

static long rounds;
static long long first_due;
static long long* ran;
static pid_t waiter_tid, tids[2];
static pthread_barrier_t ready;

static long long due_in(long round) {
  return first_due + round * APART;
}

static void sleep_until(long long at) {
  const struct timespec time = {.tv_sec = at / (1000 * MS), .tv_nsec = at % (1000 * MS)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) continue;
}

static void bind_to(pid_t tid, int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(cpu, &set);
  if (sched_setaffinity(tid, sizeof set, &set)) fail("sched_setaffinity");
}

static void wait_for_all(void) {
  pthread_barrier_wait(&ready);  // all are ready …
  pthread_barrier_wait(&ready);  // … and first_due is known
}

static void* spinner(void* which) {
  const long cpu = (long)which;
  be_urgent(cpu ? "second" : "first", 50, (int)cpu);
  tids[cpu] = (pid_t)syscall(SYS_gettid);
  wait_for_all();
  for (long round = 0; round < rounds; round++) {
    sleep_until(due_in(round) - MS);
    const long long end = due_in(round) + (cpu ? 50 : 60) * MS;
    while (now_ns() < end) continue;
  }
  return NULL;
}

static void* waiter(void* none) {
  be_urgent("waiter", 10, 0);
  waiter_tid = (pid_t)syscall(SYS_gettid);
  wait_for_all();
  for (long round = 0; round < rounds; round++) {
    sleep_until(due_in(round));
    ran[round] = now_ns();
    bind_to(0, 0);
  }
  return none;
}

int main(int argc, char** argv) {
  rounds = number_argument(argc, argv, 1, 3);
  ran = calloc((size_t)rounds, sizeof *ran);
  if (!ran || sysconf(_SC_NPROCESSORS_ONLN) < 2) return 77;
  pthread_t threads[3];
  pthread_barrier_init(&ready, NULL, 4);
  be_urgent("moved", 60, 1);
  for (long cpu = 0; cpu < 2; cpu++)
    if (pthread_create(&threads[cpu], NULL, spinner, (void*)cpu)) fail("pthread_create");
  if (pthread_create(&threads[2], NULL, waiter, NULL)) fail("pthread_create");
  pthread_barrier_wait(&ready);
  first_due = now_ns() + 50 * MS;
  pthread_barrier_wait(&ready);
  long long* moved = calloc((size_t)rounds, sizeof *moved);
  for (long round = 0; round < rounds && moved; round++) {
    sleep_until(due_in(round) + 30 * MS);
    bind_to(waiter_tid, 1);
    moved[round] = now_ns();
  }
  for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
  for (long round = 0; round < rounds && moved; round++)
    printf(
        "{\"type\": \"moved\", \"tid\": %d, \"first\": %d, \"second\": %d, \"due_ns\": %lld, "
        "\"moved_ns\": %lld, \"ran_ns\": %lld}\n",
        waiter_tid, tids[0], tids[1], due_in(round), moved[round], ran[round]);
  return moved ? 0 : 77;
}

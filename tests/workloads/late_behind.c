// Real-time threads whose timers expire on the CPU of a higher-priority thread.
//
//   late_behind [ROUNDS] [SPIN_MS] [CPU]
//
// `spinner` (FIFO 50) and two threads `wakee` (FIFO 10 and 11) are bound to CPU. Each round: all
// sleep; the spinner wakes up a millisecond before the wakees' timers are due, so that their
// interrupts hit the spinner, and spins until SPIN_MS after that time. Prints a line of JSON a
// round: the due time, the end of the spinning, and for each wakee its tid and the time at which it
// ran. Exits with 77 if real-time priorities are refused.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <time.h>

#include "urgent.h"

#define WAKEES 2
#define MS 1000000LL
#define APART (100 * MS)

static int cpu;
static long rounds;
static long long spin_ns, first_due;
static long long (*ran)[WAKEES], *spun_until;
static pid_t tids[WAKEES];
static pthread_barrier_t ready;

static void sleep_until(long long at) {
  const struct timespec time = {.tv_sec = at / (1000 * MS), .tv_nsec = at % (1000 * MS)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR) continue;
}

static void* spinner(void* none) {
  be_urgent("spinner", 50, cpu);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  for (long round = 0; round < rounds; round++) {
    const long long due = first_due + round * APART;
    sleep_until(due - MS);
    while (now_ns() < due + spin_ns) continue;
    spun_until[round] = now_ns();
  }
  return none;
}

static void* wakee(void* which) {
  const long self = (long)which;
  be_urgent("wakee", 10 + (int)self, cpu);
  tids[self] = (pid_t)syscall(SYS_gettid);
  pthread_barrier_wait(&ready);
  pthread_barrier_wait(&ready);
  for (long round = 0; round < rounds; round++) {
    sleep_until(first_due + round * APART);
    ran[round][self] = now_ns();
  }
  return NULL;
}

int main(int argc, char** argv) {
  rounds = number_argument(argc, argv, 1, 3);
  spin_ns = number_argument(argc, argv, 2, 8) * MS;
  cpu = (int)number_argument(argc, argv, 3, 0);
  ran = calloc((size_t)rounds, sizeof *ran);
  spun_until = calloc((size_t)rounds, sizeof *spun_until);
  if (!ran || !spun_until) fail("calloc");
  pthread_barrier_init(&ready, NULL, WAKEES + 2);
  pthread_t threads[WAKEES + 1];
  if (pthread_create(&threads[WAKEES], NULL, spinner, NULL)) fail("pthread_create");
  for (long i = 0; i < WAKEES; i++)
    if (pthread_create(&threads[i], NULL, wakee, (void*)i)) fail("pthread_create");
  pthread_barrier_wait(&ready);
  first_due = now_ns() + APART;
  pthread_barrier_wait(&ready);
  for (int i = 0; i <= WAKEES; i++) pthread_join(threads[i], NULL);
  for (long round = 0; round < rounds; round++) {
    printf("{\"due_ns\":%lld,\"spun_until_ns\":%lld,\"wakees\":[", first_due + round * APART,
           spun_until[round]);
    for (int i = 0; i < WAKEES; i++)
      printf("%s{\"tid\":%d,\"ran_ns\":%lld}", i ? "," : "", tids[i], ran[round][i]);
    printf("]}\n");
  }
  return 0;
}

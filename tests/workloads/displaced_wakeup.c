// A real-time thread that is woken while a higher-priority thread has its CPU, for a known time.
//
//   displaced_wakeup [ROUNDS] [SPIN_MS] [CPU]
//
// `spinner` (FIFO 50) and `wakee` (FIFO 10) are bound to CPU; their waker, an ordinary thread, runs
// elsewhere. Each round: the spinner is woken and spins for SPIN_MS; the wakee is woken after a
// quarter of that time. Prints a line of JSON a round: the earliest and the latest time of the
// wake-up, the latest time at which the wakee ran, and the end of the spinning. Exits with 77 if
// real-time priorities are refused.
#define _GNU_SOURCE
#include <pthread.h>

#include "urgent.h"

static int cpu;
static long long spin_ns;
static int to_spinner[2], to_wakee[2], to_waker[2];
static volatile long long spun_until, ran_at;
static volatile pid_t tids[2];

static void be(const char* name, int priority, pid_t volatile* tid) {
  be_urgent(name, priority, cpu);
  *tid = (pid_t)syscall(SYS_gettid);
}

static char take(int* pipe_ends) {
  char c;
  if (read(pipe_ends[0], &c, 1) != 1) fail("read");
  return c;
}

static void give(int* pipe_ends, char c) {
  if (write(pipe_ends[1], &c, 1) != 1) fail("write");
}

static void* spinner(void* none) {
  be("spinner", 50, &tids[0]);
  give(to_waker, 's');
  while (take(to_spinner) == 'g') {
    const long long until = now_ns() + spin_ns;
    give(to_waker, 's');
    while (now_ns() < until) continue;
    spun_until = now_ns();
  }
  return none;
}

static void* wakee(void* none) {
  be("wakee", 10, &tids[1]);
  give(to_waker, 'w');
  while (take(to_wakee) == 'g') {
    ran_at = now_ns();
    give(to_waker, 'w');
  }
  return none;
}

static void stay_off(void) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) fail("sched_getaffinity");
  CPU_CLR(cpu, &set);
  if (CPU_COUNT(&set) == 0) {
    fprintf(stderr, "there is one CPU only\n");
    exit(77);
  }
  if (sched_setaffinity(0, sizeof set, &set)) fail("sched_setaffinity");
}

int main(int argc, char** argv) {
  const long rounds = number_argument(argc, argv, 1, 3);
  spin_ns = number_argument(argc, argv, 2, 20) * 1000000LL;
  cpu = (int)number_argument(argc, argv, 3, 0);
  stay_off();
  if (pipe(to_spinner) || pipe(to_wakee) || pipe(to_waker)) fail("pipe");
  pthread_t threads[2];
  if (pthread_create(&threads[0], NULL, spinner, NULL)) fail("pthread_create");
  if (pthread_create(&threads[1], NULL, wakee, NULL)) fail("pthread_create");
  take(to_waker);
  take(to_waker);
  for (long round = 0; round < rounds; round++) {
    usleep(50000);
    give(to_spinner, 'g');
    take(to_waker);
    usleep((useconds_t)(spin_ns / 4000));
    const long long woken = now_ns();
    give(to_wakee, 'g');
    const long long woken_by = now_ns();
    take(to_waker);
    printf(
        "{\"wakee\":%d,\"spinner\":%d,\"woken_ns\":%lld,\"woken_by_ns\":%lld,"
        "\"ran_ns\":%lld,\"spun_until_ns\":%lld}\n",
        tids[1], tids[0], woken, woken_by, ran_at, spun_until);
  }
  give(to_spinner, 'e');
  give(to_wakee, 'e');
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  return 0;
}

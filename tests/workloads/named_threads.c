// named_threads THREADS CALLS: thread i (from 0) is called "worker-i" and calls getppid (i + 1) *
// CALLS times; all threads run at the same time.
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

static long calls_unit;
static pthread_barrier_t start;

static void* work(void* number) {
  char name[16];
  snprintf(name, sizeof name, "worker-%ld", (long)number);
  prctl(PR_SET_NAME, name);
  pthread_barrier_wait(&start);
  call_getppid(((long)number + 1) * calls_unit);
  return NULL;
}

int main(int argc, char** argv) {
  long threads = number_argument(argc, argv, 1, 4);
  calls_unit = number_argument(argc, argv, 2, 100);
  if (threads < 1 || threads > 64) return 2;
  pthread_t workers[64];
  pthread_barrier_init(&start, NULL, (unsigned)threads);
  for (long i = 0; i < threads; i++)
    if (pthread_create(&workers[i], NULL, work, (void*)i) != 0) fail("pthread_create");
  for (long i = 0; i < threads; i++) pthread_join(workers[i], NULL);
  return 0;
}

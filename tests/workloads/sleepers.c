// sleepers THREADS: each thread sleeps again and again, for 0.4 to 0.9 seconds, as a service with a
// thread for each client does; prints "ready" once all have begun, and ends with its input.
#include <pthread.h>

#include "workload.h"

#define MS 1000000l

static void* keep_sleeping(void* number) {
  const struct timespec nap = {.tv_nsec = 400 * MS + (long)number % 100 * 5 * MS};
  for (;;) nanosleep(&nap, NULL);
  return NULL;
}

int main(int argc, char** argv) {
  long threads = number_argument(argc, argv, 1, 1000);
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 64 << 10);
  for (long i = 0; i < threads; i++) {
    pthread_t one;
    if (pthread_create(&one, &small, keep_sleeping, (void*)i) != 0) fail("pthread_create");
  }
  printf("ready\n");
  fflush(stdout);
  char byte;
  while (read(0, &byte, 1) > 0) continue;
  return 0;
}

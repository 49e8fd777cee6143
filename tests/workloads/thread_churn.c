// thread_churn THREADS CALLS [AT_ONCE]: THREADS short-lived threads, AT_ONCE of them alive at a
// time, each calling getppid CALLS times; prints the number of all calls.
#include <pthread.h>

#include "workload.h"

static void* calls(void* times) {
  call_getppid((long)times);
  return NULL;
}

int main(int argc, char** argv) {
  long threads = number_argument(argc, argv, 1, 100);
  long times = number_argument(argc, argv, 2, 10);
  long at_once = number_argument(argc, argv, 3, 4);
  pthread_t alive[64];
  if (at_once < 1 || at_once > 64) return 2;
  for (long made = 0; made < threads; made += at_once) {
    long batch = threads - made < at_once ? threads - made : at_once;
    for (long i = 0; i < batch; i++)
      if (pthread_create(&alive[i], NULL, calls, (void*)times) != 0) fail("pthread_create");
    for (long i = 0; i < batch; i++) pthread_join(alive[i], NULL);
  }
  printf("%ld\n", threads * times);
  return 0;
}

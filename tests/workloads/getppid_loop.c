// getppid_loop CALLS|SECONDSs [THREADS]: getppid in a loop on every thread; prints the number of
// all calls.
#include <pthread.h>

#include "workload.h"

static long calls_each;
static long long run_ns;

static void* loop(void* result) {
  long made = 0;
  if (run_ns == 0) {
    call_getppid(calls_each);
    made = calls_each;
  } else {
    for (long long end = now_ns() + run_ns; now_ns() < end; made += 1000) call_getppid(1000);
  }
  *(long*)result = made;
  return NULL;
}

int main(int argc, char** argv) {
  calls_each = number_argument(argc, argv, 1, 1000);
  if (argc > 1 && argv[1][strlen(argv[1]) - 1] == 's') run_ns = calls_each * 1000000000LL;
  long threads = number_argument(argc, argv, 2, 1);
  pthread_t others[64];
  long made[64] = {0};
  if (threads < 1 || threads > 64) return 2;
  for (long i = 1; i < threads; i++)
    if (pthread_create(&others[i], NULL, loop, &made[i]) != 0) fail("pthread_create");
  loop(&made[0]);
  long sum = made[0];
  for (long i = 1; i < threads; i++) {
    pthread_join(others[i], NULL);
    sum += made[i];
  }
  printf("%ld\n", sum);
  return 0;
}

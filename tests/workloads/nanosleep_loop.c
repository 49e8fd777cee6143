// nanosleep_loop TIMES NANOSECONDS: nanosleep, each timed from outside with the vDSO clock. Prints
// the sum, the shortest and the longest of these times in ns: upper bounds for a tracer's figures.
#include "workload.h"

int main(int argc, char** argv) {
  long times = number_argument(argc, argv, 1, 100);
  struct timespec nap = {0, number_argument(argc, argv, 2, 1000000)};
  long long sum = 0, shortest = 0, longest = 0;
  for (long i = 0; i < times; i++) {
    long long before = now_ns();
    if (syscall(SYS_nanosleep, &nap, NULL) != 0) fail("nanosleep");
    long long took = now_ns() - before;
    sum += took;
    if (i == 0 || took < shortest) shortest = took;
    if (took > longest) longest = took;
  }
  printf("%lld %lld %lld\n", sum, shortest, longest);
  return 0;
}

// x32 CALLS: getpid through the x32 ABI (number | 0x40000000) CALLS times. A kernel without x32
// answers ENOSYS, but the calls are made all the same. Prints the last result.
#include "workload.h"

int main(int argc, char** argv) {
  long result = 0;
  for (long i = number_argument(argc, argv, 1, 10); i > 0; i--)
    result = syscall(0x40000000L | SYS_getpid) < 0 ? -errno : 0;
  printf("%ld\n", result);
  return 0;
}

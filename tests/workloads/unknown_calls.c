// unknown_calls: system calls that do not exist: number 511 twice, 9999 three times, -1 four times.
#include "workload.h"

int main(void) {
  static const long numbers[] = {511, 511, 9999, 9999, 9999, -1, -1, -1, -1};
  for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
    if (syscall(numbers[i]) != -1 || errno != ENOSYS) return 1;
  return 0;
}

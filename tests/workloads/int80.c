// int80 CALLS: getpid through the 32-bit entry `int 0x80` CALLS times, from a 64-bit program. Its
// i386 number, 20, is writev on x86-64.
#include "workload.h"

int main(int argc, char** argv) {
#ifdef __x86_64__
  long times = number_argument(argc, argv, 1, 10);
  for (long i = 0; i < times; i++) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "0"(20) : "memory", "r8", "r9", "r10", "r11");
    if (result != getpid()) return 77;  // no 32-bit entry in this kernel
  }
  return 0;
#else
  (void)argc;
  (void)argv;
  return 77;
#endif
}

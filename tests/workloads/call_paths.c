// call_paths PATH [N]: system calls on paths through code that is not compiled functions.
//   vdso  reads, N times, a clock for which the vDSO has to ask the kernel
//   plt   calls a function of its own library, with lazy binding, step by step. The handler calls
//         getppid after each step in the program and in the library, and after every 4th step in
//         the loader. Prints the number of these calls.
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <sys/auxv.h>
#include <ucontext.h>

#include "call_paths.h"
#include "workload.h"

// Never inlined, so that the function has a frame of its own.
#define IN_STACKS __attribute__((noinline))

enum { LOADER_SIZE = 1 << 20 };  // at least the loader's size; ends before the next mapping
static volatile long result, steps, calls;

IN_STACKS static void tell_the_step(void) {
  getppid();
  ++calls;
}

// After the first trap, which the program raises, a trap follows each instruction.
static void on_step(int number, siginfo_t* info, void* context) {
  (void)number, (void)info;
  greg_t* registers = ((ucontext_t*)context)->uc_mcontext.gregs;
  const uintptr_t in_loader = (uintptr_t)registers[REG_RIP] - getauxval(AT_BASE);
  if (in_loader >= LOADER_SIZE || ++steps % 4 == 0) tell_the_step();
  const greg_t trap_flag = 0x100;
  if (result == 0)
    registers[REG_EFL] |= trap_flag;
  else
    registers[REG_EFL] &= ~trap_flag;
}

IN_STACKS static void call_the_library(void) {
  raise(SIGTRAP);
  result = answer_of_the_library(41);
}

IN_STACKS static void ask_the_vdso(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  result = time.tv_nsec;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "";
  if (!strcmp(path, "vdso")) {
    for (long left = number_argument(argc, argv, 2, 10); left > 0; --left) ask_the_vdso();
  } else if (!strcmp(path, "plt")) {
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    call_the_library();
    if (result != 42) return 1;
    printf("%ld\n", calls);
  } else {
    return 2;
  }
  return 0;
}

// fork_exec_storm TIMES PROGRAM [ARGUMENTS…]: forks and executes PROGRAM (an absolute path) TIMES
// times, one by one.
#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  for (long i = number_argument(argc, argv, 1, 1); i > 0; i--) {
    pid_t child = fork();
    if (child < 0) fail("fork");
    if (child == 0) {
      execv(argv[2], argv + 2);
      _exit(127);
    }
    wait_for(child);
  }
  return 0;
}

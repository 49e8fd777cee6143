// vfork_exec TIMES PROGRAM [ARGUMENTS…]: as fork_exec_storm, with vfork.
#define _DEFAULT_SOURCE
#include "workload.h"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  volatile long left = number_argument(argc, argv, 1, 1);
  for (; left > 0; left--) {
    pid_t child = vfork();
    if (child < 0) fail("vfork");
    if (child == 0) {
      execv(argv[2], argv + 2);
      _exit(127);
    }
    wait_for(child);
  }
  return 0;
}

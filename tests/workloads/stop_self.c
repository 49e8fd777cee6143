// stop_self CALLS: stops itself with SIGSTOP, then, when continued, calls getppid CALLS times.
#include <signal.h>

#include "workload.h"

int main(int argc, char** argv) {
  if (write(STDOUT_FILENO, "stopping\n", 9) != 9) fail("write");
  kill(getpid(), SIGSTOP);
  call_getppid(number_argument(argc, argv, 1, 10));
  return 0;
}

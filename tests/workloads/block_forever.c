// block_forever [CALLS [SECONDS]]: calls getppid CALLS times, prints "blocked", then waits in read
// of a pipe that stays empty; with SECONDS, until SIGALRM kills the process.
#include "workload.h"

int main(int argc, char** argv) {
  int ends[2];
  char byte;
  if (pipe(ends)) fail("pipe");
  alarm((unsigned)number_argument(argc, argv, 2, 0));
  call_getppid(number_argument(argc, argv, 1, 0));
  if (write(STDOUT_FILENO, "blocked\n", 8) != 8) fail("write");
  while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
  }
  return 0;
}

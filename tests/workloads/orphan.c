// orphan CALLS [FILE]: forks and exits. The child outlives the parent, then calls getppid CALLS
// times and creates FILE as its last act.
#include <fcntl.h>

#include "workload.h"

int main(int argc, char** argv) {
  int ends[2];
  char byte;
  if (pipe(ends)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child > 0) _exit(3);
  close(ends[1]);
  while (read(ends[0], &byte, 1) != 0) {  // ends when the parent has gone
  }
  usleep(50000);
  call_getppid(number_argument(argc, argv, 1, 100));
  if (argc > 2) close(open(argv[2], O_CREAT | O_WRONLY, 0600));
  return 0;
}

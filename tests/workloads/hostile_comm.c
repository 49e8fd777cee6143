// hostile_comm CALLS [wait]: names itself with a line feed and terminal escapes, then calls getppid
// CALLS times. With "wait", waits in read of standard input before the end.
#include <sys/prctl.h>

#include "workload.h"

int main(int argc, char** argv) {
  char byte;
  prctl(PR_SET_NAME, "e\nvil\x1b[31m\x07\x9b\xff");
  call_getppid(number_argument(argc, argv, 1, 10));
  if (argc > 2) {
    if (write(STDOUT_FILENO, "ready\n", 6) != 6) fail("write");
    while (read(STDIN_FILENO, &byte, 1) > 0) {
    }
  }
  return 0;
}

// errors: openat fails 7 times with ENOENT, twice with ENAMETOOLONG and, unless run as root, 4
// times with EACCES; read fails 3 times with EBADF and 5 times with EAGAIN. Prints the number of
// EACCES.
#define _GNU_SOURCE
#include <fcntl.h>

#include "workload.h"

static int open_fails_with(const char* path, int code) {
  return openat(AT_FDCWD, path, O_RDONLY) == -1 && errno == code;
}

int main(void) {
  static char long_name[5000];
  char byte;
  int ends[2];
  int accesses = 0;
  memset(long_name, 'x', sizeof long_name - 1);
  if (pipe2(ends, O_NONBLOCK)) fail("pipe2");
  for (int i = 0; i < 7; i++)
    if (!open_fails_with("/nonexistent/file", ENOENT)) return 1;
  for (int i = 0; i < 2; i++)
    if (!open_fails_with(long_name, ENAMETOOLONG)) return 2;
  if (geteuid() != 0)
    for (; accesses < 4; accesses++)
      if (!open_fails_with("/etc/shadow", EACCES)) return 3;
  for (int i = 0; i < 3; i++)
    if (read(1000000, &byte, 1) != -1 || errno != EBADF) return 4;
  for (int i = 0; i < 5; i++)
    if (read(ends[0], &byte, 1) != -1 || errno != EAGAIN) return 5;
  printf("%d\n", accesses);
  return 0;
}

// long_paths: openat with a path of 4095 bytes (the longest there is; ENOENT), one of 4096
// (ENAMETOOLONG), one of 255, one of 256 and an empty one; and one at an address that is not mapped
// (EFAULT).
#include <fcntl.h>

#include "workload.h"

static int open_error(const char* path) {
  return openat(AT_FDCWD, path, O_RDONLY) == -1 ? errno : 0;
}

static int path_error(size_t length) {
  static char path[8192];
  memset(path, 0, sizeof path);
  for (size_t i = 0; i < length; i++) path[i] = i % 100 == 0 ? '/' : 'p';
  return open_error(path);
}

int main(void) {
  if (path_error(4095) != ENOENT || path_error(4096) != ENAMETOOLONG) return 1;
  if (path_error(255) != ENOENT || path_error(256) != ENOENT) return 2;
  if (open_error("") != ENOENT) return 3;
  if (syscall(SYS_openat, AT_FDCWD, 16L, O_RDONLY) != -1 || errno != EFAULT) return 4;
  return 0;
}

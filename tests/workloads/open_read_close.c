// open_read_close TIMES: openat, read and close of /dev/zero, TIMES times each.
#include <fcntl.h>

#include "workload.h"

int main(int argc, char** argv) {
  long times = number_argument(argc, argv, 1, 1000);
  char buffer[64];
  for (long i = 0; i < times; i++) {
    int fd = open("/dev/zero", O_RDONLY);
    if (fd < 0 || read(fd, buffer, sizeof buffer) != sizeof buffer) fail("/dev/zero");
    close(fd);
  }
  return 0;
}

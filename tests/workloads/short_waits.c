// One write() of 150 pages into a pipe that holds one page. Another process takes a page after each
// nap of 2 ms, so the writer waits once for each page, never for long, and always in the same
// place. Prints the begin and the end of the write, by its own clock, and the number of pages.
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/prctl.h>

#include "workload.h"

#define PAGE 4096
#define PAGES 150

static void read_slowly(int from) {
  char page[PAGE];
  const struct timespec nap = {.tv_nsec = 2000000};
  prctl(PR_SET_NAME, "slow-reader");
  do nanosleep(&nap, NULL);
  while (read(from, page, sizeof page) > 0);
  _exit(0);
}

int main(void) {
  static char all[PAGES * PAGE];
  int ends[2];
  if (pipe(ends) || fcntl(ends[1], F_SETPIPE_SZ, PAGE) < 0) fail("pipe");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    close(ends[1]);
    read_slowly(ends[0]);
  }
  close(ends[0]);
  const long long begin = now_ns();
  if (write(ends[1], all, sizeof all) != sizeof all) fail("write");
  const long long end = now_ns();
  close(ends[1]);
  wait_for(child);
  printf(
      "{\"type\": \"written\", \"tid\": %d, \"begin_ns\": %lld, \"end_ns\": %lld, \"pages\": %d}\n",
      (int)getpid(), begin, end, PAGES);
  return 0;
}

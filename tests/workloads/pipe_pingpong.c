// pipe_pingpong TIMES: parent and child send one byte to and fro, with TIMES reads and TIMES writes
// in each.
#include "workload.h"

static void play(int from, int to, long times, int serves) {
  char ball = 'o';
  for (long i = 0; i < times; i++) {
    if (serves && write(to, &ball, 1) != 1) fail("write");
    if (read(from, &ball, 1) != 1) fail("read");
    if (!serves && write(to, &ball, 1) != 1) fail("write");
  }
}

int main(int argc, char** argv) {
  long times = number_argument(argc, argv, 1, 1000);
  int there[2], back[2];
  if (pipe(there) || pipe(back)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    play(there[0], back[1], times, 0);
    _exit(0);
  }
  play(back[0], there[1], times, 1);
  wait_for(child);
  return 0;
}

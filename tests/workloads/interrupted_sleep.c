// interrupted_sleep handler|restart|stop TIMES: what signals do to a call that waits.
//   handler  nanosleep is ended by a handled signal: EINTR, TIMES times
//   restart  read of a pipe is ended by a signal with SA_RESTART and starts again: TIMES signals,
//   then data stop     nanosleep is stopped and continued: the kernel goes on with restart_syscall
#define _GNU_SOURCE
#include <signal.h>

#include "workload.h"

static void on_signal(int number) {
  (void)number;
}

static void signal_parent(long times, int first, int second) {
  pid_t parent = getppid();
  for (long i = 0; i < times; i++) {
    usleep(20000);
    kill(parent, first);
    if (second != 0) {
      usleep(5000);
      kill(parent, second);
    }
  }
  usleep(20000);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  long times = number_argument(argc, argv, 2, 3);
  int restart = strcmp(argv[1], "restart") == 0, stop = strcmp(argv[1], "stop") == 0;
  struct sigaction action = {.sa_handler = on_signal, .sa_flags = restart ? SA_RESTART : 0};
  sigaction(SIGUSR1, &action, NULL);
  int ends[2];
  char byte = 'x';
  if (pipe(ends)) fail("pipe");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    if (stop)
      signal_parent(times, SIGSTOP, SIGCONT);
    else
      signal_parent(times, SIGUSR1, 0);
    if (write(ends[1], &byte, 1) != 1) fail("write");
    _exit(0);
  }
  struct timespec nap = {.tv_sec = stop ? 0 : 10, .tv_nsec = stop ? 300000000 : 0};
  if (restart) {
    if (read(ends[0], &byte, 1) != 1) fail("read");
  } else if (stop) {
    if (syscall(SYS_nanosleep, &nap, NULL) != 0) fail("nanosleep");
  } else {
    for (long i = 0; i < times; i++)
      if (syscall(SYS_nanosleep, &nap, NULL) != -1 || errno != EINTR) return 1;
  }
  wait_for(child);
  return 0;
}

// interrupted_sleep handler|restart|stop TIMES: a waiting call that gets signals.
//   handler  a handled signal ends nanosleep with EINTR, TIMES times
//   restart  a signal with SA_RESTART interrupts read of a pipe, which starts again: TIMES signals,
//            then data
//   stop     nanosleep is stopped and continued: the kernel goes on with restart_syscall
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "workload.h"

// Shared with the child, which sends signals in step, because two pending signals become one if the
// parent is busy.
static volatile long* handled;  // signals, plus one from when the parent is about to wait

static void on_signal(int number) {
  (void)number;
  ++*handled;
}

static void signal_parent(long times) {
  pid_t parent = getppid();
  for (long i = 0; i < times; i++) {
    while (*handled <= i) continue;  // without calls, whose number would vary
    usleep(20000);
    kill(parent, SIGUSR1);
  }
  usleep(20000);
}

static void wait_for_state(pid_t pid, char state) {
  char path[32], text[256], seen = 0;
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  while (seen != state) {
    FILE* file = fopen(path, "r");
    if (!file) fail(path);
    const char* name_end = fgets(text, sizeof text, file) ? strrchr(text, ')') : NULL;
    if (name_end) seen = name_end[2];
    fclose(file);
    usleep(5000);
  }
}

static void stop_parent(long times) {
  pid_t parent = getppid();
  while (*handled == 0) continue;
  for (long i = 0; i < times; i++) {
    wait_for_state(parent, 'S');
    kill(parent, SIGSTOP);
    wait_for_state(parent, 'T');
    kill(parent, SIGCONT);
  }
  wait_for_state(parent, 'S');
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
  handled = mmap(NULL, sizeof *handled, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (handled == MAP_FAILED) fail("mmap");
  pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL)) fail("prctl");
    if (stop)
      stop_parent(times);
    else
      signal_parent(times);
    if (write(ends[1], &byte, 1) != 1) fail("write");
    _exit(0);
  }
  struct timespec nap = {.tv_sec = stop ? 2 : 10};
  *handled = 1;
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

// way_back HOW TIMES: reads that are over, and whose thread does not come back:
//   stopped   the reader gets SIGSTOP in its read(), and SIGCONT 120 ms later; then the byte comes
//   self      the thread stops itself with kill(); SIGCONT comes 120 ms later
//   traced    a tracer holds the reader at the end of each read() for 120 ms
// Prints for each how long the call took, by the thread's own clock.
#define _GNU_SOURCE
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "workload.h"

#define MS 1000000ll

static void nap(long long ms) {
  const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * MS};
  nanosleep(&t, NULL);
}

static void tell(const char* call, long long begin) {
  printf(
      "{\"type\": \"call\", \"tid\": %d, \"name\": \"%s\", \"begin_ns\": %lld, \"took_ns\": "
      "%lld}\n",
      (int)gettid(), call, begin, now_ns() - begin);
  fflush(stdout);
}

static void read_all(int from) {
  char byte;
  for (;;) {
    const long long begin = now_ns();
    if (read(from, &byte, 1) != 1) _exit(0);
    tell("read", begin);
  }
}

static void stop_oneself(long times) {
  for (long i = 0; i < times; i++) {
    const long long begin = now_ns();
    kill(getpid(), SIGSTOP);
    tell("kill", begin);
  }
  _exit(0);
}

static void wait_for_stop(pid_t child) {
  int status;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) fail("waitpid");
}

static void resume(pid_t child) {
  if (ptrace(PTRACE_SYSCALL, child, 0, 0)) fail("ptrace");
}

static void trace(pid_t child, int to, long times) {
  for (long i = 0; i < times; i++) {
    if (ptrace(PTRACE_SEIZE, child, 0, 0) || ptrace(PTRACE_INTERRUPT, child, 0, 0)) fail("ptrace");
    wait_for_stop(child); /* out of its read() … */
    resume(child);
    wait_for_stop(child); /* … which begins again */
    resume(child);
    nap(20);
    if (write(to, "x", 1) != 1) fail("write");
    wait_for_stop(child); /* the read() has ended */
    nap(120);
    if (ptrace(PTRACE_DETACH, child, 0, 0)) fail("ptrace");
    nap(20); /* it prints, and reads again */
  }
}

int main(int argc, char** argv) {
  const char* how = argc > 1 ? argv[1] : "stopped";
  const long times = number_argument(argc, argv, 2, 3);
  int ends[2], status;
  if (pipe(ends)) fail("pipe");
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    prctl(PR_SET_NAME, "reader");
    close(ends[1]);
    if (strcmp(how, "self") == 0) stop_oneself(times);
    read_all(ends[0]);
  }
  close(ends[0]);
  nap(50);
  if (strcmp(how, "traced") == 0) {
    trace(child, ends[1], times);
  } else {
    for (long i = 0; i < times; i++) {
      if (strcmp(how, "stopped") == 0) kill(child, SIGSTOP);
      waitpid(child, &status, WUNTRACED);
      nap(120);
      kill(child, SIGCONT);
      nap(20);
      if (strcmp(how, "stopped") == 0 && write(ends[1], "x", 1) != 1) fail("write");
      nap(20);
    }
  }
  close(ends[1]);
  wait_for(child);
  return 0;
}
